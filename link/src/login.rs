//! Logging in at a broker.

use std::time::Duration;

use bytes::Bytes;
use skein_login::{Attempt, Mistrust, Next};
use skein_protocol::code::Code;
use skein_protocol::ids::ApiKey;
use skein_routing::apis::sasl;
use skein_routing::topology::Offer;
use tokio::time::timeout;

use crate::ask::exchange;
use crate::failure::Failure;
use crate::speaker::Speaker;
use crate::stream::Stream;

/// How long it may take to have something to log in with: a token may have to be fetched.
const CREDENTIAL: Duration = Duration::from_secs(10);

/// A way to put a question to a broker: a stream of its own, or a lane of a session.
pub trait Wire: Send {
    /// Sends a frame, given without its length, whose correlation id is 0; gives the one that answers it, without its length.
    ///
    /// # Errors
    /// [`Failure`]: the login cannot go on.
    fn ask(&mut self, frame: Bytes) -> impl Future<Output = Result<Bytes, Failure>> + Send;
}

/// A stream that nobody else uses.
pub(crate) struct Own<'s>(pub(crate) &'s mut Stream);

impl Wire for Own<'_> {
    async fn ask(&mut self, frame: Bytes) -> Result<Bytes, Failure> {
        exchange(self.0, 0, &frame).await.map_err(|failure| failure.closed_means(Failure::LoginCut))
    }
}

/// The version of SaslAuthenticate for a broker that offers this.
pub(crate) fn version(offer: &Offer) -> Result<i16, Failure> {
    let offered = offer.apis.get(&ApiKey::SASL_AUTHENTICATE).copied();
    offered.and_then(sasl::version).ok_or(Failure::NoLogin)
}

/// Logs in. Inside: how long that holds; `None`: for as long as the connection.
///
/// # Errors
/// [`Failure`]: there is nothing to log in with, or the broker refuses it.
pub async fn log_in(wire: &mut impl Wire, speaker: &Speaker, version: i16) -> Result<Option<Duration>, Failure> {
    let credential = timeout(CREDENTIAL, speaker.credential()).await;
    let late = || Err(format!("it was not to be had within {} s", CREDENTIAL.as_secs()));
    let credential = credential.unwrap_or_else(|_| late()).map_err(Failure::NoCredential)?;
    let mechanism = credential.mechanism().name();
    let begun = Attempt::begin(&credential).map_err(|why| Failure::NoCredential(why.to_string()));
    drop(credential);
    let (mut token, mut attempt) = begun?;
    let handshaken = sasl::handshaken(&wire.ask(sasl::handshake(mechanism)).await?)?;
    handshaken.map_err(|(code, offered)| Failure::NotTaken { mechanism, code, offered: offered.join(", ") })?;
    loop {
        let answer = sasl::answered(version, &wire.ask(sasl::token(version, token)).await?)?;
        if answer.code != Code::NONE.0 {
            let said = answer.message.unwrap_or_default();
            return Err(Failure::LoginRefused { mechanism, code: Code(answer.code), said });
        }
        match step(attempt, answer.token).await? {
            Next::Send(next, goes_on) => (token, attempt) = (next, goes_on),
            Next::Done => return Ok(answer.lifetime),
            Next::Failed(Mistrust::Refused(said)) => {
                return Err(Failure::LoginRefused { mechanism, code: Code::SASL_AUTHENTICATION_FAILED, said });
            }
            Next::Failed(why) => return Err(Failure::Impostor { mechanism, why: why.to_string() }),
        }
    }
}

/// A hash over a password takes milliseconds: who else runs here is not to wait for it.
async fn step(attempt: Attempt, challenge: Bytes) -> Result<Next, Failure> {
    if !attempt.is_costly() {
        return Ok(attempt.step(&challenge));
    }
    let stepped = tokio::task::spawn_blocking(move || attempt.step(&challenge)).await;
    stepped.map_err(|_| Failure::Late)
}
