//! Read buffers, held only while there is data, and handed from one connection to the next.

use std::sync::Mutex;

use bytes::BytesMut;

/// Bytes of a read buffer: as much as one system call brings at best.
pub(crate) const BUFFER: usize = 256 << 10;

/// Buffers that nobody holds.
#[derive(Debug)]
pub(crate) struct Pool {
    idle: Mutex<Vec<BytesMut>>,
    most: usize,
}

impl Pool {
    /// At most `most` idle buffers are kept.
    pub(crate) fn new(most: usize) -> Self {
        Self { idle: Mutex::new(Vec::new()), most }
    }

    /// A buffer with room for [`BUFFER`] bytes.
    pub(crate) fn take(&self) -> BytesMut {
        let idle = self.idle.lock().map(|mut idle| idle.pop()).unwrap_or_default();
        idle.unwrap_or_else(|| BytesMut::with_capacity(BUFFER))
    }

    /// Gives a buffer back; what it holds is gone.
    pub(crate) fn give(&self, mut buffer: BytesMut) {
        buffer.clear();
        // A buffer of which parts are still held elsewhere, or that has grown for a large frame, is not worth keeping.
        if !buffer.try_reclaim(BUFFER) || buffer.capacity() > 2 * BUFFER {
            return;
        }
        if let Ok(mut idle) = self.idle.lock()
            && idle.len() < self.most
        {
            idle.push(buffer);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_idle_buffers_are_kept_as_may_be() {
        for most in 0..3 {
            let pool = Pool::new(most);
            let taken = [(); 4].map(|()| pool.take());
            taken.into_iter().for_each(|buffer| pool.give(buffer));
            assert_eq!(pool.idle.lock().unwrap().len(), most);
        }
    }
}
