//! The messages of the `kafka-protocol` crate, for the few APIs whose content must be understood.
//!
//! The crate allocates by what a peer claims, so bytes from a socket are decoded only by [`decode`], which has the walker
//! vouch for them first.

use bytes::{Bytes, BytesMut};
pub use kafka_protocol::messages::*;
pub use kafka_protocol::protocol::{Decodable, Encodable, StrBytes};

use crate::ids::{self, Direction};
use crate::malformed::Malformed;
use crate::meaning::Meanings;
use crate::table::Table;
use crate::varint::{narrow, wide};
use crate::walker::{Stop, Walker};

/// Why a message could not be read.
#[derive(Debug, thiserror::Error)]
pub enum Unread {
    /// The walker refused it.
    #[error(transparent)]
    Malformed(#[from] Malformed),
    /// The crate refused what the walker took, as it does with a version newer than it knows.
    #[error("{key} version {version} could not be decoded: {why}")]
    Undecoded {
        /// The API.
        key: ids::ApiKey,
        /// The version.
        version: i16,
        /// The crate's words.
        why: String,
    },
}

/// Decodes the body of `frame`, a whole frame without its length, once the walker has vouched for it.
///
/// # Errors
/// [`Unread`]: who refused it, and why.
pub fn decode<M: Decodable>(key: ids::ApiKey, version: i16, direction: Direction, frame: &Bytes) -> Result<M, Unread> {
    let layout =
        Table::get().layout(key, version, direction).ok_or(Malformed::UnknownMessage { key: key.0, version })?;
    let body = vouch(Walker::new(layout, narrow(frame.len()), Meanings::NONE), frame)?;
    let mut rest = frame.slice(body..);
    M::decode(&mut rest, version).map_err(|error| Unread::Undecoded { key, version, why: error.to_string() })
}

/// Walks a whole frame; says where its body starts.
fn vouch(mut walker: Walker, mut frame: &[u8]) -> Result<usize, Malformed> {
    match walker.run(&mut frame, &mut ())? {
        Stop::End => Ok(wide(walker.body())),
        // A complete frame has all that could be needed, unless it ends inside a field.
        Stop::Need(_) | Stop::Passed | Stop::Told => Err(Malformed::Short { at: narrow(frame.len()) }),
    }
}

/// A whole request without its length: header and body.
///
/// # Errors
/// The crate's words, if `message` has something set that `version` lacks.
pub fn request<M: Encodable>(
    key: ids::ApiKey, version: i16, correlation: i32, client: &str, message: &M,
) -> Result<BytesMut, String> {
    let mut out = BytesMut::new();
    out.extend_from_slice(&key.0.to_be_bytes());
    out.extend_from_slice(&version.to_be_bytes());
    out.extend_from_slice(&correlation.to_be_bytes());
    out.extend_from_slice(&u16::try_from(client.len()).unwrap_or(0).to_be_bytes());
    out.extend_from_slice(client.as_bytes());
    body(&mut out, key, version, Direction::ToBroker, message)?;
    Ok(out)
}

/// A whole response without its length: header and body.
///
/// # Errors
/// The crate's words, if `message` has something set that `version` lacks.
pub fn response<M: Encodable>(
    key: ids::ApiKey, version: i16, correlation: i32, message: &M,
) -> Result<BytesMut, String> {
    let mut out = BytesMut::new();
    out.extend_from_slice(&correlation.to_be_bytes());
    body(&mut out, key, version, Direction::ToClient, message)?;
    Ok(out)
}

fn body<M: Encodable>(
    out: &mut BytesMut, key: ids::ApiKey, version: i16, direction: Direction, message: &M,
) -> Result<(), String> {
    let flexible = Table::get().api(key).is_some_and(|api| api.message(direction).is_flexible(version));
    if flexible && !(key == ids::ApiKey::API_VERSIONS && direction == Direction::ToClient) {
        out.extend_from_slice(&[0]);
    }
    message.encode(out, version).map_err(|error| error.to_string())
}
