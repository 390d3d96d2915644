//! The loader's end of a connection, plain or under TLS; blocking.

use rustls::ClientConnection;
use std::io::{self, BufReader, IoSlice, Read, Write};
use std::net::TcpStream;

/// A connection of the loader.
#[derive(Debug)]
pub enum Stream {
    /// As it is.
    Plain(TcpStream),
    /// Under TLS, after the handshake. What is read from the socket is buffered: the library asks for 4 KiB at a time, which
    /// would cost the loader more than what it loads.
    Tls(Box<(ClientConnection, BufReader<TcpStream>)>),
}

/// The socket below TLS: reads through the buffer, writes past it.
pub(crate) struct Below<'a>(pub(crate) &'a mut BufReader<TcpStream>);

impl Read for Below<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(buffer)
    }
}

impl Write for Below<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.get_mut().write(bytes)
    }

    fn write_vectored(&mut self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        self.0.get_mut().write_vectored(slices)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Plain(socket) => socket.read(buffer),
            Self::Tls(tls) => {
                let (session, socket) = &mut **tls;
                rustls::Stream::new(session, &mut Below(socket)).read(buffer)
            }
        }
    }
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.write_vectored(&[IoSlice::new(bytes)])
    }

    fn write_vectored(&mut self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        match self {
            Self::Plain(socket) => socket.write_vectored(slices),
            Self::Tls(tls) => {
                let (session, socket) = &mut **tls;
                let taken = session.writer().write_vectored(slices)?;
                while session.wants_write() {
                    session.write_tls(&mut Below(socket))?;
                }
                Ok(taken)
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
