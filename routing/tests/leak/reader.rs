//! Reads a whole frame: every field that means something, where it stands, and in which elements of which arrays.

use skein_protocol::malformed::Malformed;
use skein_protocol::meaning::{Meaning, Meanings};
use skein_protocol::sample::{SampleValue, expected_meanings};
use skein_protocol::table::{Fact, Layout};
use skein_protocol::varint::{narrow, wide};
use skein_protocol::walker::{Flow, Open, Sink, Spot, Stop, Walker};

/// A field.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) fact: &'static Fact,
    pub(crate) value: SampleValue,
    pub(crate) at: usize,
    pub(crate) len: usize,
    /// The elements that it stands in, the outermost first; each has a number of its own.
    pub(crate) elements: Vec<u32>,
}

/// A record batch whose header is there.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Batch {
    pub(crate) at: usize,
    pub(crate) producer: i64,
    pub(crate) transactional: bool,
}

/// What a frame holds.
#[derive(Debug, Default)]
pub(crate) struct Contents {
    pub(crate) fields: Vec<Seen>,
    pub(crate) batches: Vec<Batch>,
    elements: Vec<u32>,
    last: u32,
}

/// Where the producer id stands in a batch.
pub(crate) const PRODUCER: std::ops::Range<usize> = 43..51;

pub(crate) fn read(layout: &'static Layout, mut frame: &[u8]) -> Contents {
    let wanted = expected_meanings().and(Meanings::of(&[Meaning::Records]));
    let mut contents = Contents::default();
    let stop = Walker::new(layout, narrow(frame.len()), wanted).run(&mut frame, &mut contents);
    assert_eq!(stop, Ok(Stop::End), "the frame is not whole");
    contents
}

impl Sink<&[u8]> for Contents {
    fn value(&mut self, spot: &Spot, input: &mut &[u8], ahead: usize) -> Result<Flow, Malformed> {
        let bytes = &input[ahead..ahead + wide(spot.len)];
        let value = match bytes {
            _ if spot.null => SampleValue::Null,
            _ if spot.prefix > 0 => SampleValue::Text(bytes[usize::from(spot.prefix)..].to_vec()),
            _ if bytes.len() == 16 => SampleValue::Id(bytes.try_into().unwrap()),
            _ => SampleValue::Int(integer(bytes)),
        };
        let (at, len, elements) = (wide(spot.at), wide(spot.len), self.elements.clone());
        self.fields.push(Seen { fact: spot.fact, value, at, len, elements });
        Ok(Flow::On)
    }

    fn batch(&mut self, _: u32, input: &mut &[u8], ahead: usize) {
        let batch = &input[ahead..];
        self.batches.push(Batch {
            at: ahead,
            producer: integer(&batch[PRODUCER]),
            transactional: batch[22] & 0x10 != 0,
        });
    }

    fn open(&mut self, _: &Open) -> Flow {
        self.elements.push(0);
        Flow::On
    }

    fn element(&mut self, _: u32) {
        self.last += 1;
        *self.elements.last_mut().unwrap() = self.last;
    }

    fn close(&mut self, _: u32) {
        self.elements.pop();
    }
}

/// A big-endian integer of any width, sign-extended.
fn integer(bytes: &[u8]) -> i64 {
    let sign = if bytes[0] & 0x80 == 0 { 0 } else { -1 };
    bytes.iter().fold(sign, |number, byte| number << 8 | i64::from(*byte))
}
