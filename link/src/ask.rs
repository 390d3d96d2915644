//! Questions on a stream of its own: one frame out, one frame back. Whoever asks says how long that may take.

use std::io;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use skein_protocol::ids::{ApiKey, Direction};
use skein_protocol::messages::{self, ApiVersionsRequest, ApiVersionsResponse, StrBytes};
use skein_protocol::table::{Table, Versions};
use skein_routing::apis::metadata;
use skein_routing::topology::{Offer, Topics, Topology};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::failure::Failure;
use crate::stream::Stream;

/// Bytes of an answer to one of Skein's own questions: brokers, ranges and features, no topics.
pub(crate) const MOST_ANSWER: u32 = 16 << 20;
/// The version of ApiVersions that Skein asks in: from 4 on features with a lowest level of 0 are shown.
const ASKED: i16 = 4;
/// The code that answers a version which is unknown to the broker (KIP-511).
const UNSUPPORTED_VERSION: i16 = 35;

/// Sends a frame, given without its length, and reads the one that answers it, without its length.
pub(crate) async fn exchange(stream: &mut Stream, correlation: i32, frame: &[u8]) -> Result<Bytes, Failure> {
    let length = u32::try_from(frame.len()).map_err(|_| Failure::Unasked("a question beyond 4 GiB".to_owned()))?;
    let mut out = BytesMut::with_capacity(frame.len() + 4);
    out.extend_from_slice(&length.to_be_bytes());
    out.extend_from_slice(frame);
    stream.write_all(&out).await?;
    stream.flush().await?;
    let signed = stream.read_i32().await?;
    let length = u32::try_from(signed).ok().filter(|length| (4..=MOST_ANSWER).contains(length));
    let length = length.ok_or(if is_alert(signed) { Failure::SpeaksTls } else { Failure::Length(signed) })?;
    let mut answer = BytesMut::new();
    let mut limited = stream.take(u64::from(length));
    // It grows with what arrives, never by what is claimed.
    while limited.limit() > 0 {
        if limited.read_buf(&mut answer).await? == 0 {
            return Err(Failure::from(io::Error::from(io::ErrorKind::UnexpectedEof)));
        }
    }
    match answer.first_chunk() {
        Some(found) if i32::from_be_bytes(*found) == correlation => Ok(answer.freeze()),
        _ => Err(Failure::Correlation),
    }
}

/// Whether what stands in the place of a length is the beginning of an alert of TLS.
fn is_alert(length: i32) -> bool {
    matches!(length.to_be_bytes(), [0x15, 0x03, 0x00..=0x04, _])
}

/// Asks what a broker offers.
///
/// # Errors
/// [`Failure`]: the stream is of no further use.
pub(crate) async fn offer(stream: &mut Stream) -> Result<Offer, Failure> {
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
        let frame = messages::request(ApiKey::API_VERSIONS, version, 0, "skein", &request).map_err(Failure::Unasked)?;
        let answer = exchange(stream, 0, &frame).await.map_err(|failure| failure.closed_means(Failure::Unspoken))?;
        let code = answer.get(4..6).and_then(|bytes| bytes.try_into().ok()).map_or(-1, i16::from_be_bytes);
        match code {
            0 => {
                let response: ApiVersionsResponse =
                    messages::decode(ApiKey::API_VERSIONS, version, Direction::ToClient, &answer)?;
                return Ok(read_offer(&response));
            }
            UNSUPPORTED_VERSION if version > 0 => version = 0,
            other => return Err(Failure::Refused(other)),
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
/// [`Failure`]: the stream is of no further use.
pub(crate) async fn identity(stream: &mut Stream, offer: &Offer) -> Result<Topology, Failure> {
    let offered = offer.apis.get(&ApiKey::METADATA).copied();
    let version = offered.and_then(metadata::version).ok_or(Failure::NoVersion)?;
    let answer = exchange(stream, 1, &metadata::question(version, 1)).await;
    let answer = answer.map_err(|failure| failure.closed_means(Failure::LoginWanted))?;
    Ok(metadata::learn(version, &answer)?)
}

/// Asks for all topics with their ids; `None`: the cluster gives none.
///
/// # Errors
/// [`Failure`]: the stream is of no further use.
pub(crate) async fn topics(stream: &mut Stream, offer: &Offer) -> Result<Option<Topics>, Failure> {
    let offered = offer.apis.get(&ApiKey::METADATA).copied();
    let Some((version, question)) = offered.and_then(|offered| metadata::listing(offered, 2)) else { return Ok(None) };
    let answer = exchange(stream, 2, &question).await?;
    Ok(Some(metadata::listed(version, &answer)?))
}
