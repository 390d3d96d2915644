//! A connection to a client or to a broker, plain or under TLS.

use std::io::{self, IoSlice};
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::TlsStream;

/// A connection, plain or under TLS.
///
/// What was written is with the system only once [`AsyncWrite::poll_flush`] says so: TLS holds records that a full socket did
/// not take. The end of what the other side sends is an end whether it is announced or not, since frames carry their lengths.
#[derive(Debug)]
pub enum Stream {
    /// As it is.
    Plain(TcpStream),
    /// Under TLS, after the handshake.
    Tls(Box<Tls>),
}

/// A connection under TLS.
#[derive(Debug)]
pub struct Tls {
    stream: TlsStream<TcpStream>,
    /// Whether nothing can be read before the socket has more: set by a read that found nothing.
    is_drained: bool,
}

impl Stream {
    /// The socket below.
    pub fn socket(&self) -> &TcpStream {
        match self {
            Self::Plain(socket) => socket,
            Self::Tls(tls) => tls.stream.get_ref().0,
        }
    }

    /// The address of the other side.
    ///
    /// # Errors
    /// The socket is gone already.
    pub fn peer_addr(&self) -> io::Result<SocketAddr> {
        self.socket().peer_addr()
    }

    /// Whether a read is worth a buffer: there is something to read, or nothing ever will be. What is there may be less than a
    /// record of TLS, so a read may still find nothing.
    ///
    /// # Errors
    /// The socket is gone.
    pub fn poll_read_ready(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self {
            Self::Plain(socket) => socket.poll_read_ready(cx),
            // Text, a farewell or an error may have come with what was read last; they wait in the session, not in the socket.
            Self::Tls(tls) if tls.is_drained => tls.stream.get_ref().0.poll_read_ready(cx),
            Self::Tls(_) => Poll::Ready(Ok(())),
        }
    }
}

impl From<TcpStream> for Stream {
    fn from(socket: TcpStream) -> Self {
        Self::Plain(socket)
    }
}

impl From<TlsStream<TcpStream>> for Stream {
    fn from(stream: TlsStream<TcpStream>) -> Self {
        // The handshake may have read further than it needed.
        Self::Tls(Box::new(Tls { stream, is_drained: false }))
    }
}

impl Tls {
    fn poll_read(&mut self, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let read = Pin::new(&mut self.stream).poll_read(cx, buffer);
        self.is_drained = read.is_pending();
        match read {
            Poll::Ready(Err(error)) if error.kind() == io::ErrorKind::UnexpectedEof => Poll::Ready(Ok(())),
            other => other,
        }
    }
}

impl AsyncRead for Stream {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(socket) => Pin::new(socket).poll_read(cx, buffer),
            Self::Tls(tls) => tls.poll_read(cx, buffer),
        }
    }
}

impl AsyncWrite for Stream {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(socket) => Pin::new(socket).poll_write(cx, bytes),
            Self::Tls(tls) => Pin::new(&mut tls.stream).poll_write(cx, bytes),
        }
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>, cx: &mut Context<'_>, slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(socket) => Pin::new(socket).poll_write_vectored(cx, slices),
            Self::Tls(tls) => Pin::new(&mut tls.stream).poll_write_vectored(cx, slices),
        }
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(socket) => Pin::new(socket).poll_flush(cx),
            Self::Tls(tls) => Pin::new(&mut tls.stream).poll_flush(cx),
        }
    }

    /// Says farewell, and sends no more.
    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(socket) => Pin::new(socket).poll_shutdown(cx),
            Self::Tls(tls) => Pin::new(&mut tls.stream).poll_shutdown(cx),
        }
    }
}
