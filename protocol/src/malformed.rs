//! What was wrong with a peer's bytes.

/// A frame that breaks Kafka's encoding or a bound of ours. The connection it came on cannot be used further.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// The table has no layout for this message.
    #[error("API key {key} version {version} is not one that this build knows")]
    UnknownMessage {
        /// The API key of the head.
        key: i16,
        /// The version of the head.
        version: i16,
    },
    /// A frame length that no Kafka frame has: below its header, or above the cap of the place it came to.
    #[error("a frame length of {length} bytes; between {least} and {most} are right here{}", peer_guess(*length))]
    FrameLength {
        /// The four bytes read as a signed length.
        length: i32,
        /// The smallest length that can hold a header.
        least: u32,
        /// The largest length accepted here.
        most: u32,
    },
    /// A string, blob or tag reaches beyond what holds it.
    #[error("a length of {length} at byte {at} of the frame, where {rest} bytes are left")]
    Beyond {
        /// Where the length stands, in bytes from the start of the frame.
        at: u32,
        /// The length that was claimed.
        length: u32,
        /// What is left in the frame or tag.
        rest: u32,
    },
    /// A negative length other than −1.
    #[error("a negative length of {length} at byte {at} of the frame")]
    Negative {
        /// Where the length stands.
        at: u32,
        /// What was read.
        length: i32,
    },
    /// Null where the message definition has no null.
    #[error("null at byte {at} of the frame, where null is not allowed")]
    Null {
        /// Where it stands.
        at: u32,
    },
    /// More elements than the rest of the frame could hold.
    #[error("an array of {count} elements at byte {at} of the frame, where {rest} bytes are left")]
    Count {
        /// Where the count stands.
        at: u32,
        /// The count that was claimed.
        count: u32,
        /// What is left in the frame or tag.
        rest: u32,
    },
    /// A varint of more than five bytes, or beyond 32 bits.
    #[error("a varint of more than 32 bits at byte {at} of the frame")]
    Varint {
        /// Where it starts.
        at: u32,
    },
    /// A tag number beyond Kafka's own int32.
    #[error("the tag number {tag} at byte {at} of the frame is beyond any of Kafka's")]
    TagNumber {
        /// Where it stands.
        at: u32,
        /// The tag number.
        tag: u32,
    },
    /// A tag that its section has had before.
    #[error("tag {tag} at byte {at} of the frame stands a second time")]
    TagAgain {
        /// Where it stands.
        at: u32,
        /// The tag number.
        tag: u32,
    },
    /// A known tag whose content is not exactly as long as its size says.
    #[error("a tag whose size ends at byte {end} of the frame holds content up to byte {at}")]
    TagSize {
        /// Where the content ended.
        at: u32,
        /// Where the size said it would.
        end: u32,
    },
    /// More unknown tags than a peer has reason to send.
    #[error("more than {most} unknown tags in one frame")]
    TooManyTags {
        /// The bound.
        most: u16,
    },
    /// More array elements than a peer has reason to send.
    #[error("more than {most} array elements in one frame")]
    TooManyElements {
        /// The bound.
        most: u32,
    },
    /// Arrays and tags nested deeper than any message has them; no layout of the table leads here.
    #[error("fields nest too deeply at byte {at} of the frame")]
    TooDeep {
        /// Where.
        at: u32,
    },
    /// A response that goes on after its last field.
    #[error("{rest} bytes after the last field of a response")]
    Trailing {
        /// How many.
        rest: u32,
    },
    /// A string longer than any of Kafka's.
    #[error("a string of {length} bytes at byte {at} of the frame; at most {most} are right")]
    LongText {
        /// Where the length stands.
        at: u32,
        /// The length that was claimed.
        length: u32,
        /// The bound.
        most: u32,
    },
    /// A field whose new value its encoding cannot hold: a number too big, a null where none may be, an element left out
    /// of a frame that streams. The frame may be sound; what was asked of it cannot be done, and it must not pass as it is.
    #[error("the new value of the field at byte {at} of the frame has no place there")]
    Unfit {
        /// Where the field stands.
        at: u32,
    },
    /// A streamed frame that would outgrow the length that was announced for it.
    #[error("a name at byte {at} of the frame outgrows the length that was announced")]
    Outgrown {
        /// Where the name stands.
        at: u32,
    },
    /// A frame that ends inside a field.
    #[error("the frame ends at byte {at}, inside a field")]
    Short {
        /// Where it ends.
        at: u32,
    },
}

/// What a peer that is not a Kafka client would have sent to be read as this length.
fn peer_guess(length: i32) -> &'static str {
    match length.to_be_bytes() {
        [0x16, 0x03, ..] => " (a TLS hello: the peer speaks TLS and this port does not)",
        [0x15, 0x03, ..] => " (a TLS alert: the peer speaks TLS and this port does not)",
        [b'G', b'E', b'T', b' '] | [b'P', b'O', b'S', b'T'] | [b'H', b'E', b'A', b'D'] | [b'P', b'U', b'T', b' '] => {
            " (an HTTP request)"
        }
        [b'S', b'S', b'H', b'-'] => " (an SSH client)",
        _ => "",
    }
}
