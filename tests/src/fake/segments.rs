//! Answers as pieces, so that a hundred megabytes of records need one batch of memory.

use std::io::{self, Write};

use bytes::{BufMut, Bytes, BytesMut};

/// What Fetch finds in a partition.
#[derive(Clone, Debug, Default)]
pub enum Stored {
    /// Nothing.
    #[default]
    Empty,
    /// These bytes.
    Given(Bytes),
    /// One batch many times, each with its own base offset, which the CRC does not cover.
    Repeated {
        /// A whole batch.
        batch: Bytes,
        /// How often.
        times: u32,
    },
}

impl Stored {
    /// About this many bytes, in batches of a megabyte.
    pub fn about(bytes: usize) -> Stored {
        let batch = crate::batch::Batch::large(1 << 20).build();
        let times = u32::try_from(bytes.div_ceil(batch.len())).unwrap_or(u32::MAX);
        Stored::Repeated { batch, times }
    }

    /// Number of bytes.
    pub fn len(&self) -> usize {
        match self {
            Stored::Empty => 0,
            Stored::Given(bytes) => bytes.len(),
            Stored::Repeated { batch, times } => batch.len() * *times as usize,
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn pieces(&self) -> Box<dyn Iterator<Item = Bytes> + '_> {
        match self {
            Stored::Empty => Box::new(std::iter::empty()),
            Stored::Given(bytes) => Box::new(std::iter::once(bytes.clone())),
            Stored::Repeated { batch, times } => Box::new(
                (0..*times).flat_map(move |n| [Bytes::copy_from_slice(&i64::from(n).to_be_bytes()), batch.slice(8..)]),
            ),
        }
    }
}

/// The body of an answer.
#[derive(Clone, Debug, Default)]
pub struct Segments {
    pieces: Vec<Stored>,
    open: BytesMut,
}

impl Segments {
    /// Where fields are written.
    pub(super) fn fields(&mut self) -> &mut BytesMut {
        &mut self.open
    }

    /// Appends records.
    pub(super) fn records(&mut self, records: &Stored) {
        self.seal();
        self.pieces.push(records.clone());
    }

    /// Number of bytes.
    pub(super) fn len(&self) -> usize {
        self.pieces.iter().map(Stored::len).sum::<usize>() + self.open.len()
    }

    /// All in one, for what is to be garbled.
    pub(super) fn join(&self) -> BytesMut {
        let mut whole = BytesMut::with_capacity(self.len());
        self.each(&mut |piece| {
            whole.put_slice(piece);
            Ok(())
        })
        .unwrap_or_default();
        whole
    }

    /// Calls for each piece in order.
    pub(super) fn each(&self, call: &mut dyn FnMut(&[u8]) -> io::Result<()>) -> io::Result<()> {
        for piece in self.pieces.iter().flat_map(Stored::pieces) {
            call(&piece)?;
        }
        call(&self.open)
    }

    /// Writes everything.
    pub(super) fn write(&self, to: &mut impl Write) -> io::Result<()> {
        self.each(&mut |piece| to.write_all(piece))
    }

    fn seal(&mut self) {
        if !self.open.is_empty() {
            self.pieces.push(Stored::Given(self.open.split().freeze()));
        }
    }
}

impl From<Bytes> for Segments {
    fn from(body: Bytes) -> Segments {
        Segments { pieces: vec![Stored::Given(body)], open: BytesMut::new() }
    }
}
