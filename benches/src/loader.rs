//! The synthetic loader: connects as a client does, keeps a window of requests open, checks and drops the answers.
//!
//! One thread per connection, blocking. It writes while the window has room for `Case::refill` requests or more, else it
//! reads; requests and answers that go against the stream of records are small enough for the sockets' buffers, so a
//! blocking write never waits for a read of its own.

use crate::framing::{Frame, Outbox, Skimmer};
use crate::messages::{self, Learnt, PARTITIONS, REQUEST_CORRELATION, TopicId};
use crate::stream::Stream;
use crate::tls::Client;
use anyhow::{Context, Result, ensure};
use std::net::{SocketAddr, TcpStream};
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::{Duration, Instant};

/// How long a socket may stand still before the run fails.
const STALL: Duration = Duration::from_secs(30);

/// Which way the records go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// To the broker.
    Produce,
    /// From the broker.
    Fetch,
}

/// One kind of load.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    /// What the command line and the results call it.
    pub name: &'static str,
    /// Which way the records go.
    pub kind: Kind,
    /// Bytes of the record batch in each request or answer.
    pub records: usize,
    /// Connections that work at the same time.
    pub connections: usize,
    /// Requests open on each connection.
    pub depth: usize,
    /// Bytes of record batches moved in one round, by all connections together.
    pub bytes: usize,
}

impl Case {
    /// Requests that each connection sends in one round, at least one.
    pub fn requests(&self) -> usize {
        (self.bytes / self.records / self.connections).max(1)
    }

    /// Bytes of record batches that a round moves, exactly.
    pub fn moved(&self) -> usize {
        self.requests() * self.connections * self.records
    }

    /// How many requests are sent at once when the window has been full: an eighth of the depth, at least one.
    pub fn refill(&self) -> usize {
        (self.depth / 8).max(1)
    }
}

/// How a client comes in.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Where.
    pub address: SocketAddr,
    /// Under TLS, if set.
    pub tls: Option<Client>,
}

/// A connection that has done what a client does first: ApiVersions and Metadata.
#[derive(Debug)]
pub struct Greeted {
    stream: Stream,
    skimmer: Skimmer,
    /// What Metadata said.
    pub learnt: Learnt,
}

/// Connects to `entry`, shakes hands if there is TLS, asks ApiVersions and Metadata.
///
/// # Errors
/// If the peer cannot be reached, answers wrongly, or stands still for `STALL`.
pub fn greet(entry: &Entry) -> Result<Greeted> {
    let Entry { address, tls } = entry;
    let socket = TcpStream::connect(address).with_context(|| format!("cannot connect to {address}"))?;
    socket.set_nodelay(true)?;
    socket.set_read_timeout(Some(STALL))?;
    socket.set_write_timeout(Some(STALL))?;
    let mut stream = match tls {
        Some(tls) => tls.shake_hands(socket)?,
        None => Stream::Plain(socket),
    };
    let mut skimmer = Skimmer::default();
    let versions = ask(&mut stream, &mut skimmer, &messages::api_versions_request(-2))?;
    messages::check_api_versions(&versions)?;
    let metadata = ask(&mut stream, &mut skimmer, &messages::metadata_request(-1))?;
    let learnt = messages::read_metadata(&metadata)?;
    Ok(Greeted { stream, skimmer, learnt })
}

/// Sends one request and gives its answer, which must fit what a skimmer keeps.
fn ask(stream: &mut Stream, skimmer: &mut Skimmer, request: &[u8]) -> Result<Vec<u8>> {
    let mut outbox = Outbox::default();
    outbox.copy(request);
    outbox.flush(stream)?;
    loop {
        if let Some(Frame { length, head }) = skimmer.frame()? {
            ensure!(head.get(..4) == request.get(REQUEST_CORRELATION), "an answer with another correlation id");
            ensure!(length == head.len(), "an answer of {length} bytes is too long for the loader");
            return Ok(head.to_vec());
        }
        ensure!(skimmer.fill(stream)? > 0, "the connection was closed before the answer");
    }
}

/// Connections that are ready to move one round's bytes.
#[derive(Debug)]
pub struct Prepared {
    case: Case,
    lanes: Vec<Lane>,
    /// Held open, as clients do.
    _bootstrap: Greeted,
}

/// Bootstraps at `bootstrap`, then opens the case's connections to the node that Metadata shows.
///
/// # Errors
/// As `greet`; and if `records` does not make a batch.
pub fn prepare(bootstrap: &Entry, case: &Case) -> Result<Prepared> {
    let first = greet(bootstrap).context("at the bootstrap address")?;
    let node = Entry { address: first.learnt.leader, tls: bootstrap.tls.clone() };
    let records = match case.kind {
        Kind::Produce => messages::records(case.records)?,
        Kind::Fetch => Arc::default(),
    };
    let lanes = (0..PARTITIONS).cycle().take(case.connections).map(|partition| {
        let greeted = greet(&node).context("at the node's address")?;
        Ok(Lane::new(greeted, case, partition, Arc::clone(&records)))
    });
    Ok(Prepared { case: *case, lanes: lanes.collect::<Result<_>>()?, _bootstrap: first })
}

impl Prepared {
    /// Moves the bytes and gives the wall time from the first request to the last answer.
    ///
    /// `done` is called while the connections are still open.
    ///
    /// # Errors
    /// If an answer is wrong, missing, or late by `STALL`.
    pub fn run<T>(self, done: impl FnOnce() -> Result<T>) -> Result<(Duration, T)> {
        let start = Arc::new(Barrier::new(self.lanes.len() + 1));
        let run = |mut lane: Lane| {
            let start = Arc::clone(&start);
            thread::spawn(move || {
                start.wait();
                lane.run().map(|()| lane)
            })
        };
        let threads: Vec<_> = self.lanes.into_iter().map(run).collect();
        start.wait();
        let began = Instant::now();
        let mut finished = Vec::new();
        for thread in threads {
            finished.push(thread.join().map_err(|_| anyhow::anyhow!("a loader thread panicked"))??);
        }
        let wall = began.elapsed();
        let seen: usize = finished.iter().map(|lane| lane.answered).sum();
        ensure!(seen * self.case.records == self.case.moved(), "{seen} answers: not all requests were answered");
        Ok((wall, done()?))
    }
}

/// One connection's work.
#[derive(Debug)]
struct Lane {
    stream: Stream,
    skimmer: Skimmer,
    outbox: Outbox,
    /// The request frame up to its records; the correlation id is put in before each use.
    request: Vec<u8>,
    records: Arc<[u8]>,
    /// Bytes of every answer, the length prefix not counted.
    answer: usize,
    requests: usize,
    depth: usize,
    refill: usize,
    sent: usize,
    answered: usize,
}

impl Lane {
    fn new(greeted: Greeted, case: &Case, partition: i32, records: Arc<[u8]>) -> Self {
        let (topic, size): (&TopicId, _) = (&greeted.learnt.topic, case.records);
        let (request, answer) = match case.kind {
            Kind::Produce => (
                messages::produce_request(topic, partition, size),
                messages::produce_answer(0, topic, partition).len() - 4,
            ),
            Kind::Fetch => {
                let head = messages::fetch_answer(0, topic, partition, size);
                let length = head.first_chunk().map_or(0, |prefix| i32::from_be_bytes(*prefix) as usize);
                (messages::fetch_request(topic, partition, size), length)
            }
        };
        let Greeted { stream, skimmer, .. } = greeted;
        let (requests, depth, refill) = (case.requests(), case.depth, case.refill());
        let outbox = Outbox::default();
        Self { stream, skimmer, outbox, request, records, answer, requests, depth, refill, sent: 0, answered: 0 }
    }

    fn run(&mut self) -> Result<()> {
        loop {
            self.check_answers()?;
            if self.answered == self.requests {
                return Ok(());
            }
            let unsent = self.requests - self.sent;
            let room = (self.depth - (self.sent - self.answered)).min(unsent);
            if room > 0 && room >= self.refill.min(unsent) {
                self.send(room)?;
            }
            let read = self.skimmer.fill(&mut self.stream).with_context(|| self.progress())?;
            ensure!(read > 0, "closed by the peer: {}", self.progress());
        }
    }

    fn check_answers(&mut self) -> Result<()> {
        while let Some(Frame { length, head }) = self.skimmer.frame()? {
            let correlation = head.first_chunk().map(|bytes| i32::from_be_bytes(*bytes));
            ensure!(
                length == self.answer && correlation == Some(self.answered as i32),
                "answer {} has {length} bytes and correlation id {correlation:?}; {} bytes expected",
                self.answered,
                self.answer
            );
            self.answered += 1;
        }
        Ok(())
    }

    fn send(&mut self, requests: usize) -> Result<()> {
        for _ in 0..requests {
            self.request[REQUEST_CORRELATION].copy_from_slice(&(self.sent as i32).to_be_bytes());
            self.outbox.push(&self.request, &self.records);
            self.sent += 1;
        }
        self.outbox.flush(&mut self.stream).with_context(|| self.progress())
    }

    fn progress(&self) -> String {
        format!("{} of {} requests sent, {} answered", self.sent, self.requests, self.answered)
    }
}
