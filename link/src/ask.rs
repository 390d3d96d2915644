//! Questions on a stream of its own: one frame out, one frame back.

use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use skein_protocol::ids::{ApiKey, Direction};
use skein_protocol::messages::{self, ApiVersionsRequest, ApiVersionsResponse, StrBytes};
use skein_protocol::table::{Table, Versions};
use skein_routing::apis::metadata;
use skein_routing::topology::{Offer, Topology};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// How long a broker may take for an answer to one of Skein's own questions.
const ANSWER: Duration = Duration::from_secs(10);
/// Bytes of an answer to one of Skein's own questions: brokers, ranges and features, no topics.
const MOST_ANSWER: u32 = 16 << 20;
/// The version of ApiVersions that Skein asks in: from 4 on features with a lowest level of 0 are shown.
const ASKED: i16 = 4;
/// The code that answers a version which is unknown to the broker (KIP-511).
const UNSUPPORTED_VERSION: i16 = 35;

/// Why a question has no answer.
#[derive(Debug, thiserror::Error)]
pub enum Unanswered {
    /// The network.
    #[error("{0}")]
    Io(#[from] std::io::Error),
    /// No answer in time.
    #[error("no answer within {} s", ANSWER.as_secs())]
    Late,
    /// A frame length that no answer has.
    #[error("an answer of {0} bytes; between 4 and {MOST_ANSWER} are right")]
    Length(i32),
    /// An answer with another correlation id.
    #[error("an answer to something that was not asked")]
    Correlation,
    /// What came could not be read.
    #[error(transparent)]
    Unread(#[from] messages::Unread),
    /// The question could not be put.
    #[error("{0}")]
    Unasked(String),
    /// The broker refused.
    #[error("error {0}")]
    Refused(i16),
    /// The broker offers no version of an API that Skein could ask in.
    #[error("the broker offers no version of Metadata that Skein knows")]
    NoVersion,
}

/// Sends a frame, given without its length, and reads the one that answers it, without its length.
async fn exchange(stream: &mut TcpStream, correlation: i32, frame: &[u8]) -> Result<Bytes, Unanswered> {
    let length = u32::try_from(frame.len()).map_err(|_| Unanswered::Unasked("a question beyond 4 GiB".to_owned()))?;
    let mut out = BytesMut::with_capacity(frame.len() + 4);
    out.extend_from_slice(&length.to_be_bytes());
    out.extend_from_slice(frame);
    let both = async {
        stream.write_all(&out).await?;
        let signed = stream.read_i32().await?;
        let length = u32::try_from(signed).ok().filter(|length| (4..=MOST_ANSWER).contains(length));
        let length = length.ok_or(Unanswered::Length(signed))?;
        let mut answer = BytesMut::new();
        let mut limited = stream.take(u64::from(length));
        // It grows with what arrives, never by what is claimed.
        while limited.limit() > 0 {
            if limited.read_buf(&mut answer).await? == 0 {
                return Err(Unanswered::from(std::io::Error::from(std::io::ErrorKind::UnexpectedEof)));
            }
        }
        Ok::<_, Unanswered>(answer.freeze())
    };
    let answer = tokio::time::timeout(ANSWER, both).await.map_err(|_| Unanswered::Late)??;
    match answer.first_chunk() {
        Some(found) if i32::from_be_bytes(*found) == correlation => Ok(answer),
        _ => Err(Unanswered::Correlation),
    }
}

/// Asks what a broker offers.
///
/// # Errors
/// [`Unanswered`]: the stream is of no further use.
pub async fn offer(stream: &mut TcpStream) -> Result<Offer, Unanswered> {
    let mut version = ASKED;
    loop {
        let request = ApiVersionsRequest::default()
            .with_client_software_name(if version >= 3 {
                StrBytes::from_static_str("skein")
            } else {
                StrBytes::default()
            })
            .with_client_software_version(if version >= 3 {
                StrBytes::from_static_str(env!("CARGO_PKG_VERSION"))
            } else {
                StrBytes::default()
            });
        let frame =
            messages::request(ApiKey::API_VERSIONS, version, 0, "skein", &request).map_err(Unanswered::Unasked)?;
        let answer = exchange(stream, 0, &frame).await?;
        let code = answer.get(4..6).and_then(|bytes| bytes.try_into().ok()).map_or(-1, i16::from_be_bytes);
        match code {
            0 => {
                let response: ApiVersionsResponse =
                    messages::decode(ApiKey::API_VERSIONS, version, Direction::ToClient, &answer)?;
                return Ok(read_offer(&response));
            }
            UNSUPPORTED_VERSION if version > 0 => version = 0,
            other => return Err(Unanswered::Refused(other)),
        }
    }
}

fn read_offer(response: &ApiVersionsResponse) -> Offer {
    // Keys of a vendor's own, or of a Kafka newer than the table, are not offered on.
    let known = |key: &ApiKey| Table::get().api(*key).is_some();
    let apis = response
        .api_keys
        .iter()
        .map(|api| (ApiKey(api.api_key), Versions { from: api.min_version, to: api.max_version }));
    Offer {
        apis: apis.filter(|(key, _)| known(key)).collect(),
        supported: response
            .supported_features
            .iter()
            .map(|feature| (Arc::from(feature.name.as_str()), feature.min_version, feature.max_version))
            .collect(),
        finalized: response
            .finalized_features
            .iter()
            .map(|feature| (Arc::from(feature.name.as_str()), feature.min_version_level, feature.max_version_level))
            .collect(),
        epoch: response.finalized_features_epoch,
    }
}

/// Asks for the cluster id and the brokers, in a version that both sides have.
///
/// # Errors
/// [`Unanswered`]: the stream is of no further use.
pub async fn identity(stream: &mut TcpStream, offer: &Offer) -> Result<Topology, Unanswered> {
    let offered = offer.apis.get(&ApiKey::METADATA).copied();
    let version = offered.and_then(metadata::version).ok_or(Unanswered::NoVersion)?;
    let answer = exchange(stream, 1, &metadata::question(version, 1)).await?;
    Ok(metadata::learn(version, &answer)?)
}
