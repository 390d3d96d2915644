//! A client that sends what no client sends: frames by hand, halves of frames, single bytes, garbage.
//!
//! Blocking, one socket, every wait bounded. `request` builds what is sent, `Raw` sends it and reads what comes back.

pub mod request;
pub mod sasl;

use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use bytes::Bytes;
use kafka_protocol::protocol::{Decodable, Request as Api};
use socket2::{Domain, Socket, Type};

use crate::apis::{self, Header};
pub use request::Request;
pub use sasl::Shown;

/// How long an ordinary answer may take.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// The largest frame that is read into memory.
const LARGEST: u32 = 512 << 20;

/// How the other side ended the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Closing {
    /// A FIN: everything it had sent has arrived.
    Clean,
    /// An RST.
    Reset,
}

/// What ended a wait.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// A frame came.
    Answered(Answer),
    /// The connection ended between two frames.
    Closed(Closing),
    /// The connection ended within a frame.
    Cut(Closing),
}

/// One frame received.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// First field of every answer.
    pub correlation_id: i32,
    /// What follows the correlation id: the header's tags if the version is flexible, then the body.
    pub rest: Bytes,
}

impl Answer {
    /// The body, decoded as the answer to an `A` of that version; nothing may be left over.
    ///
    /// # Errors
    /// The bytes are not such an answer.
    pub fn decode<A: Api>(&self, version: i16) -> Result<A::Response> {
        self.read(A::KEY, version, |body| A::Response::decode(body, version))
    }

    /// The body read by a function, after the tags of the header; nothing may be left over.
    ///
    /// # Errors
    /// That of the function, or bytes left over.
    pub fn read<T>(&self, key: i16, version: i16, read: impl FnOnce(&mut Bytes) -> Result<T>) -> Result<T> {
        let mut body = self.rest.clone();
        if apis::answer_header(key, version) == Header::Flexible {
            let tags = body.split_to(1.min(body.len()));
            ensure!(tags[..] == [0], "tags in the header of the answer: {tags:?}");
        }
        let value = read(&mut body)?;
        ensure!(body.is_empty(), "{} bytes are left behind the answer to {key} v{version}", body.len());
        Ok(value)
    }

    /// Whether these bytes occur anywhere.
    pub fn contains(&self, needle: &[u8]) -> bool {
        self.rest.windows(needle.len()).any(|window| window == needle)
    }
}

/// One connection.
#[derive(Debug)]
pub struct Raw {
    stream: TcpStream,
    next_id: i32,
}

impl Raw {
    /// Connects within [`PATIENCE`].
    ///
    /// # Errors
    /// Nobody listens there.
    pub fn connect(address: SocketAddr) -> Result<Raw> {
        let stream = TcpStream::connect_timeout(&address, PATIENCE).with_context(|| format!("connect to {address}"))?;
        stream.set_nodelay(true)?;
        stream.set_write_timeout(Some(PATIENCE))?;
        Ok(Raw { stream, next_id: 1 })
    }

    /// Connects from another address of this machine, such as `127.0.0.2`.
    ///
    /// # Errors
    /// This machine has no such address, or nobody listens there.
    pub fn connect_from(source: Ipv4Addr, address: SocketAddr) -> Result<Raw> {
        let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
        socket.bind(&SocketAddr::from((source, 0)).into()).with_context(|| format!("binding {source}"))?;
        socket.connect_timeout(&address.into(), PATIENCE).with_context(|| format!("connect to {address}"))?;
        let stream = TcpStream::from(socket);
        stream.set_nodelay(true)?;
        stream.set_write_timeout(Some(PATIENCE))?;
        Ok(Raw { stream, next_id: 1 })
    }

    /// Our address, which the other side sees as its peer.
    ///
    /// # Errors
    /// The socket is gone.
    pub fn address(&self) -> Result<SocketAddr> {
        Ok(self.stream.local_addr()?)
    }

    /// Asks and waits for the answer; its correlation id must be that of the question.
    ///
    /// # Errors
    /// No answer within [`PATIENCE`], or not one to this question.
    pub fn call<A: Api>(&mut self, version: i16, body: &A) -> Result<A::Response> {
        let id = self.next_id;
        self.next_id = id.wrapping_add(1);
        let answer = self.ask(&Request::of(version, body)?.id(id))?;
        answer.decode::<A>(version)
    }

    /// Asks and waits for the answer; its correlation id must be that of the question.
    ///
    /// # Errors
    /// No answer within [`PATIENCE`], or not one to this question.
    pub fn ask(&mut self, request: &Request) -> Result<Answer> {
        self.send(request)?;
        let answer = self.receive(PATIENCE)?;
        let (wanted, got) = (request.correlation_id, answer.correlation_id);
        ensure!(wanted == got, "asked as {wanted}, answered as {got}");
        Ok(answer)
    }

    /// Sends one request.
    ///
    /// # Errors
    /// The connection is gone or full for [`PATIENCE`].
    pub fn send(&mut self, request: &Request) -> Result<()> {
        self.send_bytes(&request.frame())
    }

    /// Sends several requests in one write.
    ///
    /// # Errors
    /// The connection is gone or full for [`PATIENCE`].
    pub fn send_all(&mut self, requests: &[Request]) -> Result<()> {
        let frames: Vec<u8> = requests.iter().flat_map(Request::frame).collect();
        self.send_bytes(&frames)
    }

    /// Sends bytes as they are.
    ///
    /// # Errors
    /// The connection is gone or full for [`PATIENCE`].
    pub fn send_bytes(&mut self, bytes: &[u8]) -> Result<()> {
        self.stream.write_all(bytes).with_context(|| format!("send {} bytes", bytes.len()))
    }

    /// Sends as much as the other side takes within a time; how much that was. Its closing ends this, too.
    ///
    /// # Errors
    /// The socket cannot be set up.
    pub fn offer(&mut self, mut bytes: &[u8], within: Duration) -> Result<usize> {
        let (deadline, whole) = (Instant::now() + within, bytes.len());
        while let Some(left) = left(deadline).filter(|_| !bytes.is_empty()) {
            self.stream.set_write_timeout(Some(left))?;
            match self.stream.write(bytes) {
                Ok(sent) => bytes = &bytes[sent..],
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => break,
            }
        }
        self.stream.set_write_timeout(Some(PATIENCE))?;
        Ok(whole - bytes.len())
    }

    /// Sends `step` bytes, waits, and so on.
    ///
    /// # Errors
    /// The other side has closed before everything was sent.
    pub fn trickle(&mut self, bytes: &[u8], step: usize, interval: Duration) -> Result<()> {
        for piece in bytes.chunks(step) {
            self.send_bytes(piece)?;
            thread::sleep(interval);
        }
        Ok(())
    }

    /// Says that nothing more will be sent; reading goes on.
    ///
    /// # Errors
    /// The connection is gone.
    pub fn finish(&mut self) -> Result<()> {
        self.stream.shutdown(Shutdown::Write).context("half-close")
    }

    /// The next frame.
    ///
    /// # Errors
    /// None came in time, the connection ended, or the frame is no answer.
    pub fn receive(&mut self, within: Duration) -> Result<Answer> {
        match self.outcome(within)? {
            Outcome::Answered(answer) => Ok(answer),
            Outcome::Closed(closing) => bail!("closed ({closing:?}) instead of an answer"),
            Outcome::Cut(closing) => bail!("closed ({closing:?}) in the middle of a frame"),
        }
    }

    /// The next `count` frames, all within one time.
    ///
    /// # Errors
    /// As [`Raw::receive`].
    pub fn receive_all(&mut self, count: usize, within: Duration) -> Result<Vec<Answer>> {
        let deadline = Instant::now() + within;
        let next =
            |n| self.receive(left(deadline).unwrap_or_default()).with_context(|| format!("answer {n} of {count}"));
        (0..count).map(next).collect()
    }

    /// The next frame or the end of the connection, whichever comes first.
    ///
    /// # Errors
    /// Neither in time: a hang.
    pub fn outcome(&mut self, within: Duration) -> Result<Outcome> {
        let deadline = Instant::now() + within;
        let mut length = [0; 4];
        if let Some(closing) = self.fill(&mut length, deadline, Start::BetweenFrames)? {
            return Ok(Outcome::Closed(closing));
        }
        let length = u32::from_be_bytes(length);
        ensure!((4..=LARGEST).contains(&length), "a frame of {length} bytes");
        let mut frame = vec![0; usize::try_from(length)?];
        if let Some(closing) = self.fill(&mut frame, deadline, Start::InFrame)? {
            return Ok(Outcome::Cut(closing));
        }
        let mut rest = Bytes::from(frame);
        let id = rest.split_to(4);
        Ok(Outcome::Answered(Answer { correlation_id: i32::from_be_bytes(id[..].try_into()?), rest }))
    }

    /// The answers that still come, until the other side closes.
    ///
    /// # Errors
    /// It does not close in time, or within a frame.
    pub fn until_closed(&mut self, within: Duration) -> Result<(Vec<Answer>, Closing)> {
        let deadline = Instant::now() + within;
        let mut answers = Vec::new();
        loop {
            let waited = self.outcome(left(deadline).unwrap_or_default());
            match waited.with_context(|| format!("not closed within {within:?}, {} answers came", answers.len()))? {
                Outcome::Answered(answer) => answers.push(answer),
                Outcome::Closed(closing) => return Ok((answers, closing)),
                Outcome::Cut(closing) => bail!("closed ({closing:?}) in the middle of a frame"),
            }
        }
    }

    /// Waits for the end of the connection; no answer may come before it.
    ///
    /// # Errors
    /// An answer came, or no end in time.
    pub fn closed(&mut self, within: Duration) -> Result<Closing> {
        let (answers, closing) = self.until_closed(within)?;
        ensure!(answers.is_empty(), "{} answers came before the close: {answers:?}", answers.len());
        Ok(closing)
    }

    /// Sees that nothing comes, neither bytes nor an end.
    ///
    /// # Errors
    /// Something came.
    pub fn silent(&mut self, during: Duration) -> Result<()> {
        self.stream.set_read_timeout(Some(during))?;
        match self.stream.peek(&mut [0]) {
            Err(error) if is_timeout(&error) => Ok(()),
            Err(error) => Err(error).context("closed in what should be silence"),
            Ok(0) => bail!("closed in what should be silence"),
            Ok(_) => bail!("bytes in what should be silence"),
        }
    }

    /// Reads one frame piece by piece, at whatever pace `piece` takes; nothing is kept. Its length.
    ///
    /// The first piece starts with the correlation id. `pause` is the longest time without a byte.
    ///
    /// # Errors
    /// The connection ended or stood still.
    pub fn receive_through(&mut self, pause: Duration, mut piece: impl FnMut(&[u8])) -> Result<u64> {
        let mut length = [0; 4];
        let ended = self.fill(&mut length, Instant::now() + pause, Start::InFrame)?;
        ensure!(ended.is_none(), "closed before the frame");
        let length = u64::from(u32::from_be_bytes(length));
        let (mut rest, mut buffer) = (length, vec![0; 64 << 10]);
        while rest > 0 {
            let most = usize::try_from(rest.min(64 << 10))?;
            self.stream.set_read_timeout(Some(pause))?;
            let read =
                self.stream.read(&mut buffer[..most]).with_context(|| format!("{rest} of {length} bytes missing"))?;
            ensure!(read > 0, "closed with {rest} of {length} bytes missing");
            piece(&buffer[..read]);
            rest -= u64::try_from(read)?;
        }
        Ok(length)
    }

    /// Fills the buffer, or says how the connection ended before its first byte.
    fn fill(&mut self, buffer: &mut [u8], deadline: Instant, start: Start) -> Result<Option<Closing>> {
        let mut filled = 0;
        while filled < buffer.len() {
            let Some(left) = left(deadline) else { bail!("no more bytes in time ({filled} of {})", buffer.len()) };
            self.stream.set_read_timeout(Some(left))?;
            let ended = match self.stream.read(&mut buffer[filled..]) {
                Ok(0) => Closing::Clean,
                Ok(read) => {
                    filled += read;
                    continue;
                }
                Err(error) if is_timeout(&error) || error.kind() == ErrorKind::Interrupted => continue,
                Err(error) if error.kind() == ErrorKind::ConnectionReset => Closing::Reset,
                Err(error) => return Err(error).context("read"),
            };
            ensure!(filled == 0 || start == Start::InFrame, "closed ({ended:?}) within a length");
            return Ok(Some(ended));
        }
        Ok(None)
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Start {
    BetweenFrames,
    InFrame,
}

/// `None` when the deadline has passed.
fn left(deadline: Instant) -> Option<Duration> {
    Some(deadline.saturating_duration_since(Instant::now())).filter(|left| !left.is_zero())
}

fn is_timeout(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut)
}
