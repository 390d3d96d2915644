//! Values as the wire holds them, and what becomes of them.

use crate::table::{Encoding, Fact, Form, Nullable};
use crate::varint::{self, Inline, narrow};
use crate::walker::{LONGEST_TEXT, Spot};

/// A value of a field, as the wire holds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value<'a> {
    /// An integer of any width, sign-extended.
    Int(i64),
    /// A uuid.
    Id([u8; 16]),
    /// A string, or bytes.
    Text(&'a [u8]),
    /// Null.
    Null,
}

/// What becomes of a field.
///
/// What the field's encoding has no place for (an integer too wide, a null where the version has none) is an error of the
/// passage or rewrite, so that no value stays because its successor did not fit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Edit {
    /// It stays.
    Keep,
    /// Another integer of the same width.
    Int(i64),
    /// Another uuid.
    Id([u8; 16]),
    /// Another string.
    Text(Inline),
    /// Null; only where the version allows it.
    Null,
    /// The array element that it is, or stands in, is left out. Only in a frame that is complete.
    Drop,
    /// It cannot be decided yet: the passage stops in front of it. Only in a body that streams.
    Hold,
}

/// Who decides about the fields of a message.
pub trait Editor {
    /// Decides about one field.
    fn edit(&mut self, fact: &'static Fact, value: Value<'_>) -> Edit;

    /// Another producer id for a transactional batch; `None` leaves it.
    fn producer_id(&mut self, id: i64) -> Option<i64>;
}

/// What an edit made of an encoding.
#[derive(Debug)]
pub(crate) enum Done {
    /// It has its length still; what was changed was changed in place.
    InPlace,
    /// These bytes take its place.
    Instead(Inline),
    /// The array element that it is, or stands in, is left out.
    Drop,
    /// It has no place for the new value.
    Unfit,
    /// It cannot be decided yet.
    Hold,
}

/// Has `editor` decide about the value that `encoded` holds wholly.
#[inline]
pub(crate) fn apply<E: Editor + ?Sized>(spot: &Spot, encoded: &mut [u8], editor: &mut E) -> Done {
    let value = match spot.encoding {
        Encoding::Fixed => fixed(encoded),
        Encoding::Text(_) | Encoding::Blob(_) if spot.null => Value::Null,
        Encoding::Text(_) | Encoding::Blob(_) => Value::Text(encoded.get(usize::from(spot.prefix)..).unwrap_or(&[])),
    };
    match editor.edit(spot.fact, value) {
        Edit::Keep => Done::InPlace,
        Edit::Int(number) if spot.encoding == Encoding::Fixed => int(encoded, number),
        edit @ (Edit::Int(_) | Edit::Id(_) | Edit::Text(_) | Edit::Null | Edit::Drop | Edit::Hold) => {
            rare(spot, encoded, edit)
        }
    }
}

#[inline(always)]
fn fixed<'a>(encoded: &[u8]) -> Value<'a> {
    match *encoded {
        [a, b, c, d] => Value::Int(i64::from(i32::from_be_bytes([a, b, c, d]))),
        [a, b] => Value::Int(i64::from(i16::from_be_bytes([a, b]))),
        [a, b, c, d, e, f, g, h] => Value::Int(i64::from_be_bytes([a, b, c, d, e, f, g, h])),
        [a] => Value::Int(i64::from(i8::from_be_bytes([a]))),
        _ => encoded.try_into().map_or(Value::Null, Value::Id),
    }
}

/// The edits but those of integers.
fn rare(spot: &Spot, encoded: &mut [u8], edit: Edit) -> Done {
    match edit {
        Edit::Id(id) if spot.encoding == Encoding::Fixed && encoded.len() == id.len() => {
            encoded.copy_from_slice(&id);
            Done::InPlace
        }
        Edit::Text(text) => string(spot, encoded, &text),
        Edit::Null => null(spot),
        Edit::Drop => Done::Drop,
        Edit::Hold => Done::Hold,
        Edit::Keep | Edit::Int(_) | Edit::Id(_) => Done::Unfit,
    }
}

/// Writes an integer, signed or not, if it fits.
#[inline(always)]
fn int(encoded: &mut [u8], number: i64) -> Done {
    if let Ok(slot) = <&mut [u8; 4]>::try_from(&mut *encoded) {
        let Some(bytes) =
            i32::try_from(number).map(i32::to_be_bytes).or(u32::try_from(number).map(u32::to_be_bytes)).ok()
        else {
            return Done::Unfit;
        };
        *slot = bytes;
        return Done::InPlace;
    }
    other_int(encoded, number)
}

/// The same for any width.
fn other_int(encoded: &mut [u8], number: i64) -> Done {
    let bytes = number.to_be_bytes();
    let Some((high, low)) = bytes.len().checked_sub(encoded.len()).and_then(|at| bytes.split_at_checked(at)) else {
        return Done::Unfit;
    };
    let negative = low.first().is_some_and(|byte| byte & 0x80 != 0);
    if high.iter().all(|byte| *byte == 0) || negative && high.iter().all(|byte| *byte == 0xff) {
        encoded.copy_from_slice(low);
        return Done::InPlace;
    }
    Done::Unfit
}

/// Puts another string, or other bytes, in place of those in `encoded`.
fn string(spot: &Spot, encoded: &mut [u8], text: &[u8]) -> Done {
    let length = narrow(text.len());
    let (form, width, most) = match spot.encoding {
        Encoding::Text(form) => (form, 2, LONGEST_TEXT),
        Encoding::Blob(form) => (form, 4, i32::MAX.unsigned_abs()),
        Encoding::Fixed => return Done::Unfit,
    };
    if length > most {
        return Done::Unfit;
    }
    // The length in front stays as it is, padding and all.
    if let Some(content) = encoded.get_mut(usize::from(spot.prefix)..).filter(|content| content.len() == text.len())
        && !spot.null
    {
        content.copy_from_slice(text);
        return Done::InPlace;
    }
    let mut out = Inline::new();
    match form {
        Form::Classic(_) => out.extend_from_slice(length.to_be_bytes().get(4 - width..).unwrap_or(&[])),
        Form::Compact(_) => varint::put(&mut out, length + 1),
    }
    out.extend_from_slice(text);
    Done::Instead(out)
}

fn null(spot: &Spot) -> Done {
    if spot.null {
        return Done::InPlace;
    }
    match spot.encoding {
        Encoding::Text(Form::Classic(Nullable::Yes)) => Done::Instead(Inline::from_slice(&(-1i16).to_be_bytes())),
        Encoding::Blob(Form::Classic(Nullable::Yes)) => Done::Instead(Inline::from_slice(&(-1i32).to_be_bytes())),
        Encoding::Text(Form::Compact(Nullable::Yes)) | Encoding::Blob(Form::Compact(Nullable::Yes)) => {
            Done::Instead(Inline::from_slice(&[0]))
        }
        Encoding::Text(_) | Encoding::Blob(_) | Encoding::Fixed => Done::Unfit,
    }
}
