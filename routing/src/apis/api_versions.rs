//! ApiVersions (key 18, v0–5): always answered by Skein, also before login.
//!
//! What is offered is what the table, the cluster and Skein's own policy have in common. An unknown version is answered in
//! v0 with error 35 and the one range that matters (KIP-511). v5 names the cluster and node that the client expects
//! (KIP-1242); they are compared with the virtual ones. Features are the cluster's.
//! Source: ApiVersionsRequest.json, ApiVersionsResponse.json; KIP-511, KIP-584, KIP-1242; KAFKA-18659.

use bytes::{BufMut, Bytes, BytesMut};
use skein_protocol::code::Code;
use skein_protocol::frame::Head;
use skein_protocol::ids::{ApiKey, VirtualNodeId};
use skein_protocol::table::{Table, Versions};
use skein_protocol::varint::{self, narrow};

use super::manner::{self, Place};
use crate::topology::Offer;

/// What the client says of itself and of whom it expects.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Asked {
    /// Its software's name and version; set by v3 and above.
    pub software: Option<(String, String)>,
    /// The cluster id that it expects; v5.
    pub cluster_id: Option<String>,
    /// The node that it expects, −1 for none; v5.
    pub node: i32,
}

/// Which answer a question gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Good,
    Refused(Code),
}

/// What the question is compared with.
#[derive(Clone, Copy, Debug)]
pub struct Expected<'a> {
    /// The virtual cluster's id.
    pub cluster_id: &'a str,
    /// The node of this connection; `None` on a bootstrap address.
    pub at: Option<VirtualNodeId>,
}

/// The lowest version in which Produce is shown: librdkafka before 2.11.1 stops compressing if it is above 0.
const PRODUCE_SHOWN_FROM: i16 = 0;

/// The ranges that are offered over a cluster which offers `offer`, by key.
pub fn ranges(offer: &Offer) -> Vec<(ApiKey, Versions)> {
    let range = |api: &skein_protocol::table::Api| {
        let key = api.key;
        let own = Versions { from: api.request.versions.from, to: api.request.versions.to.min(manner::highest(key)) };
        match manner::place(key) {
            Place::NotOffered => None,
            Place::Ours => Some((key, own)),
            Place::Login | Place::Broker(_) => Some((key, own.meet(*offer.apis.get(&key)?)?)),
        }
    };
    Table::get().apis().filter_map(range).collect()
}

/// An answer, and what the question said.
#[derive(Debug)]
pub struct Answered {
    /// A frame without its length.
    pub frame: Bytes,
    /// What the client said.
    pub asked: Asked,
    /// The error that it is; `None` if it is none.
    pub refused: Option<Code>,
}

/// The answer. `frame`: the whole request, which the walker has vouched for if its version is known; `may`: whether an API
/// is offered to this client.
pub fn answer(
    head: &Head, frame: &Bytes, offer: &Offer, expected: Expected<'_>, may: &dyn Fn(ApiKey) -> bool,
) -> Answered {
    let known = Table::get().api(ApiKey::API_VERSIONS).map_or(Versions::NONE, |api| api.request.versions);
    if !known.has(head.version) {
        let (only, code) = ([(ApiKey::API_VERSIONS, known)], Code::UNSUPPORTED_VERSION);
        let frame = write(0, head.correlation, Verdict::Refused(code), &only, None);
        return Answered { frame, asked: Asked::default(), refused: Some(code) };
    }
    let asked = read(head.version, frame);
    let verdict = judge(head.version, &asked, expected);
    let (ranges, refused) = match verdict {
        Verdict::Good => (ranges(offer).into_iter().filter(|(key, _)| may(*key)).collect(), None),
        Verdict::Refused(code) => (Vec::new(), Some(code)),
    };
    Answered { frame: write(head.version, head.correlation, verdict, &ranges, Some(offer)), asked, refused }
}

/// Reads a request in the order of its fields; the walker has made sure that they are there.
fn read(version: i16, frame: &Bytes) -> Asked {
    let mut asked = Asked { node: -1, ..Asked::default() };
    if version < 3 {
        return asked;
    }
    let mut reader = Reader { rest: frame };
    reader.skip(8);
    let client_id = reader.int16();
    reader.skip(usize::try_from(client_id).unwrap_or(0));
    reader.tags();
    let name = reader.text().unwrap_or_default();
    let software_version = reader.text().unwrap_or_default();
    asked.software = Some((name, software_version));
    if version >= 5 {
        asked.cluster_id = reader.text();
        asked.node = reader.int32();
    }
    asked
}

fn judge(version: i16, asked: &Asked, expected: Expected<'_>) -> Verdict {
    if let Some((name, software_version)) = &asked.software
        && !(is_software(name) && is_software(software_version))
    {
        return Verdict::Refused(Code::INVALID_REQUEST);
    }
    if version < 5 {
        return Verdict::Good;
    }
    match (&asked.cluster_id, asked.node) {
        (None, -1) => Verdict::Good,
        (None, _) | (Some(_), -1) => Verdict::Refused(Code::INVALID_REQUEST),
        (Some(cluster), node) => {
            let here = expected.at.is_none_or(|at| at.0 == node);
            if cluster == expected.cluster_id && here {
                Verdict::Good
            } else {
                Verdict::Refused(Code::REBOOTSTRAP_REQUIRED)
            }
        }
    }
}

/// KIP-511: letters, digits, `-` and `.`, of which the last two not at an end.
fn is_software(name: &str) -> bool {
    let plain = |byte: &u8| byte.is_ascii_alphanumeric();
    let bytes = name.as_bytes();
    bytes.first().is_some_and(plain)
        && bytes.last().is_some_and(plain)
        && bytes.iter().all(|byte| plain(byte) || matches!(byte, b'-' | b'.'))
}

struct Reader<'a> {
    rest: &'a [u8],
}

impl Reader<'_> {
    fn take<const N: usize>(&mut self) -> [u8; N] {
        let taken = self.rest.first_chunk().copied().unwrap_or([0; N]);
        self.skip(N);
        taken
    }

    fn skip(&mut self, bytes: usize) {
        self.rest = self.rest.get(bytes..).unwrap_or(&[]);
    }

    fn int16(&mut self) -> i16 {
        i16::from_be_bytes(self.take())
    }

    fn int32(&mut self) -> i32 {
        i32::from_be_bytes(self.take())
    }

    fn uvarint(&mut self) -> u32 {
        match varint::read(self.rest) {
            varint::Uvarint::Read(value, len) => {
                self.skip(usize::from(len));
                value
            }
            varint::Uvarint::Short | varint::Uvarint::TooLong => 0,
        }
    }

    fn text(&mut self) -> Option<String> {
        let length = varint::wide(self.uvarint().checked_sub(1)?);
        let bytes = self.rest.get(..length)?;
        let text = String::from_utf8_lossy(bytes).into_owned();
        self.skip(length);
        Some(text)
    }

    fn tags(&mut self) {
        for _ in 0..self.uvarint() {
            self.uvarint();
            let size = self.uvarint();
            self.skip(varint::wide(size));
        }
    }
}

/// Writes an answer: the one message that goes out in versions beyond what the crate knows, and in v0 for any question.
fn write(
    version: i16, correlation: i32, verdict: Verdict, ranges: &[(ApiKey, Versions)], offer: Option<&Offer>,
) -> Bytes {
    let flexible = version >= 3;
    let mut out = BytesMut::with_capacity(64 + ranges.len() * 7);
    out.put_i32(correlation);
    out.put_i16(match verdict {
        Verdict::Good => 0,
        Verdict::Refused(code) => code.0,
    });
    let count = narrow(ranges.len());
    if flexible {
        varint::put(&mut out, count + 1)
    } else {
        out.put_u32(count)
    }
    for (key, versions) in ranges {
        out.put_i16(key.0);
        out.put_i16(if *key == ApiKey::PRODUCE { PRODUCE_SHOWN_FROM } else { versions.from });
        out.put_i16(versions.to);
        if flexible {
            out.put_u8(0);
        }
    }
    if version >= 1 {
        out.put_i32(0);
    }
    if flexible {
        match (verdict, offer) {
            (Verdict::Good, Some(offer)) => features(&mut out, version, offer),
            _ => out.put_u8(0),
        }
    }
    out.freeze()
}

/// The tagged fields 0 to 2. One that says what its absence says is left out, as brokers do: librdkafka before 2.1 reads no
/// tag of one byte.
fn features(out: &mut BytesMut, version: i16, offer: &Offer) {
    // Clients of v3 choke on a lowest level of 0, so a broker leaves such features out there.
    let shown: Vec<_> = offer.supported.iter().filter(|(_, lowest, _)| version >= 4 || *lowest > 0).collect();
    let mut supported = BytesMut::new();
    varint::put(&mut supported, narrow(shown.len()) + 1);
    for (name, lowest, highest) in &shown {
        feature(&mut supported, name, *lowest, *highest);
    }
    let mut finalized = BytesMut::new();
    varint::put(&mut finalized, narrow(offer.finalized.len()) + 1);
    for (name, lowest, highest) in &offer.finalized {
        // The highest level comes first here.
        feature(&mut finalized, name, *highest, *lowest);
    }
    let epoch = offer.epoch.to_be_bytes();
    let fields = [
        (0, &supported[..], !shown.is_empty()),
        (1, &epoch[..], offer.epoch != -1),
        (2, &finalized[..], !offer.finalized.is_empty()),
    ];
    let said = || fields.iter().filter(|(.., says)| *says);
    varint::put(out, narrow(said().count()));
    for (tag, content, _) in said() {
        varint::put(out, *tag);
        varint::put(out, narrow(content.len()));
        out.put_slice(content);
    }
}

fn feature(out: &mut BytesMut, name: &str, first: i16, second: i16) {
    varint::put(out, narrow(name.len()) + 1);
    out.put_slice(name.as_bytes());
    out.put_i16(first);
    out.put_i16(second);
    out.put_u8(0);
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    fn tags_at_the_end(offer: &Offer) -> u8 {
        let head = Head { length: 0, key: ApiKey::API_VERSIONS, version: 4, correlation: 1 };
        let frame = Bytes::from_static(&[0, 18, 0, 4, 0, 0, 0, 1, 0xff, 0xff, 0, 2, b'a', 2, b'1', 0]);
        let answer = answer(&head, &frame, offer, Expected { cluster_id: "c", at: None }, &|_| true).frame;
        // Four bytes of correlation id, two of error, no range, four of throttle time.
        assert_eq!(answer[..11], [0, 0, 0, 1, 0, 0, 2, 0, 18, 0, 0]);
        answer[4 + 2 + 1 + 7 + 4]
    }

    #[test]
    fn a_tagged_field_that_says_nothing_is_left_out() {
        let nothing = Offer { epoch: -1, ..Offer::default() };
        assert_eq!(tags_at_the_end(&nothing), 0);
        let feature = vec![(Arc::from("metadata.version"), 1, 30)];
        assert_eq!(tags_at_the_end(&Offer { epoch: 7, ..nothing.clone() }), 1);
        assert_eq!(tags_at_the_end(&Offer { supported: feature.clone(), ..nothing.clone() }), 1);
        assert_eq!(tags_at_the_end(&Offer { supported: feature.clone(), finalized: feature, epoch: 7, ..nothing }), 3);
    }
}
