//! Where the frames of a stream begin and end, told from their lengths alone.
//!
//! The engine knows better what a frame is, but not when to stop: whoever drains a connection has to know where one request
//! ends before the next is read.

/// The bytes of a frame that are shown: length, and of a request key, version and correlation id.
pub(crate) const HEAD: usize = 12;
const LENGTH: usize = 4;

/// Where one stands in a stream of frames.
#[derive(Debug, Default)]
pub(crate) struct Frames {
    head: [u8; HEAD],
    /// How many bytes of the head have come.
    known: usize,
    /// Bytes of the frame that are still to come. Set once its length is known.
    left: usize,
}

impl Frames {
    /// Goes on by some bytes. `seen` is given the head of each frame, or all of a shorter one, once the frame is whole: what
    /// is only claimed never is.
    pub(crate) fn pass(&mut self, mut bytes: &[u8], mut seen: impl FnMut(&[u8])) {
        while !bytes.is_empty() {
            let wanted = match self.known {
                0..LENGTH => LENGTH - self.known,
                LENGTH..HEAD => (HEAD - self.known).min(self.left),
                _ => self.left,
            };
            let (now, later) = bytes.split_at(wanted.min(bytes.len()));
            bytes = later;
            if self.known < HEAD {
                self.collect(now);
            } else {
                self.left -= now.len();
            }
            if self.known >= LENGTH && self.left == 0 {
                seen(self.head.get(..self.known).unwrap_or(&[]));
                self.known = 0;
            }
        }
    }

    /// Takes bytes of the head.
    fn collect(&mut self, bytes: &[u8]) {
        if let Some(place) = self.head.get_mut(self.known..self.known + bytes.len()) {
            place.copy_from_slice(bytes);
        }
        if self.known >= LENGTH {
            self.left -= bytes.len();
        }
        self.known += bytes.len();
        if self.known == LENGTH {
            let [a, b, c, d, ..] = self.head;
            // A length that no frame has ends the connection elsewhere; here nothing must overflow.
            self.left = usize::try_from(i32::from_be_bytes([a, b, c, d])).unwrap_or(usize::MAX);
        }
    }

    /// Whether a frame has come as far as its body.
    pub(crate) fn is_in_body(&self) -> bool {
        self.known == HEAD
    }

    /// Whether no frame has begun that has not ended.
    pub(crate) fn is_between(&self) -> bool {
        self.known == 0
    }

    /// How many bytes may be read without reaching into the next frame; 0 between two.
    pub(crate) fn to_end(&self) -> usize {
        match self.known {
            0 => 0,
            known @ 1..LENGTH => LENGTH - known,
            _ => self.left,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Frames of 0, 4, 8, 9 and 300 bytes behind their lengths.
    fn stream() -> Vec<u8> {
        let frame = |length: u32| length.to_be_bytes().into_iter().chain((0..length).map(|byte| byte.to_le_bytes()[0]));
        [0, 4, 8, 9, 300].into_iter().flat_map(frame).collect()
    }

    #[test]
    fn however_a_stream_is_cut_the_same_heads_are_seen() {
        let stream = stream();
        for cut in 1..stream.len() {
            let (mut frames, mut heads) = (Frames::default(), Vec::new());
            for piece in stream.chunks(cut) {
                frames.pass(piece, |head| heads.push(head.to_vec()));
            }
            let lengths: Vec<_> = heads.iter().map(Vec::len).collect();
            assert_eq!(lengths, [4, 8, 12, 12, 12], "pieces of {cut}");
            assert_eq!(heads.last().unwrap()[..5], [0, 0, 1, 44, 0]);
            assert!(frames.is_between());
        }
    }

    #[test]
    fn reading_to_the_end_never_reaches_the_next_frame() {
        let stream = stream();
        for start in 0..stream.len() {
            let mut frames = Frames::default();
            frames.pass(&stream[..start], |_| ());
            let mut at = start;
            while frames.to_end() > 0 {
                let next = at + frames.to_end();
                frames.pass(&stream[at..next], |_| ());
                at = next;
            }
            assert!([0, 4, 12, 24, 37, 341].contains(&at), "from {start} to {at}");
            assert_eq!(frames.is_between(), frames.to_end() == 0);
        }
    }

    #[test]
    fn a_length_that_no_frame_has_is_never_the_end() {
        let mut frames = Frames::default();
        frames.pass(&[0xff; 100], |_| ());
        assert!(!frames.is_between());
    }
}
