//! The synthetic broker: one node, one topic, no log; every request is answered at once from prebuilt bytes.
//!
//! A Fetch is answered with one batch of exactly its MaxBytes. What it does not speak closes the connection, with a
//! line on standard error.

use crate::framing::{Outbox, Skimmer};
use crate::messages::{self, API_VERSIONS, FETCH, FETCH_VERSION, Head, METADATA, PRODUCE, PRODUCE_VERSION, TOPIC_ID};
use anyhow::{Context, Result, bail, ensure};
use std::collections::BTreeMap;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

/// Bytes of stack of a connection's thread; an idle one costs little more than its pages in use.
const STACK: usize = 256 * 1024;

/// Batches by their size in bytes, built when first asked for and kept.
#[derive(Clone, Debug, Default)]
struct Batches(Arc<Mutex<BTreeMap<usize, Arc<[u8]>>>>);

impl Batches {
    fn of(&self, size: usize) -> Result<Arc<[u8]>> {
        let mut built = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(batch) = built.get(&size) {
            return Ok(Arc::clone(batch));
        }
        let batch = messages::records(size)?;
        built.insert(size, Arc::clone(&batch));
        Ok(batch)
    }
}

/// A broker whose listeners are opened one by one; its threads live as long as the process.
#[derive(Debug, Default)]
pub struct Broker(Batches);

impl Broker {
    /// A broker without listeners.
    pub fn new() -> Self {
        Self::default()
    }

    /// Opens a listener on a port of the system's choice and gives its address.
    ///
    /// `advertise`: the address that Metadata asked here shows; `None` is the listener's own.
    ///
    /// # Errors
    /// If no listener can be opened.
    pub fn listen(&self, advertise: Option<SocketAddr>) -> Result<SocketAddr> {
        let listener = TcpListener::bind("127.0.0.1:0").context("the broker cannot listen")?;
        let own = listener.local_addr()?;
        let (advertise, batches) = (advertise.unwrap_or(own), self.0.clone());
        thread::Builder::new().name("broker".to_owned()).spawn(move || accept(&listener, advertise, &batches))?;
        Ok(own)
    }
}

fn accept(listener: &TcpListener, advertise: SocketAddr, batches: &Batches) {
    for stream in listener.incoming() {
        let batches = batches.clone();
        let serve = move || -> Result<()> { Connection::new(stream?, advertise, batches)?.serve() };
        let report = move || {
            if let Err(error) = serve() {
                eprintln!("broker: {error:#}");
            }
        };
        if let Err(error) = thread::Builder::new().stack_size(STACK).spawn(report) {
            eprintln!("broker: no thread for a connection: {error}");
        }
    }
}

struct Connection {
    stream: TcpStream,
    advertise: SocketAddr,
    batches: Batches,
    /// The batch that was served last: most connections ask for one size only.
    last: Option<(usize, Arc<[u8]>)>,
    outbox: Outbox,
}

impl Connection {
    fn new(stream: TcpStream, advertise: SocketAddr, batches: Batches) -> Result<Self> {
        stream.set_nodelay(true)?;
        Ok(Self { stream, advertise, batches, last: None, outbox: Outbox::default() })
    }

    /// Answers until the peer closes: all requests of one read in one write.
    fn serve(mut self) -> Result<()> {
        let mut skimmer = Skimmer::default();
        loop {
            while let Some(frame) = skimmer.frame()? {
                self.answer(frame.head)?;
            }
            self.outbox.flush(&mut self.stream)?;
            match skimmer.fill(&mut self.stream) {
                Ok(0) => return Ok(()),
                Ok(_) => {}
                Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => return Ok(()),
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn answer(&mut self, request: &[u8]) -> Result<()> {
        let Head { key, version, correlation, mut body } = Head::read(request)?;
        match (key, version) {
            (PRODUCE, PRODUCE_VERSION) => {
                let (topic, partition) = messages::read_produce(&mut body)?;
                ensure!(topic == TOPIC_ID, "Produce for the unknown topic id {topic:02x?}");
                self.outbox.copy(&messages::produce_answer(correlation, &topic, partition));
            }
            (FETCH, FETCH_VERSION) => {
                let (topic, partition, size) = messages::read_fetch(&mut body)?;
                ensure!(topic == TOPIC_ID, "Fetch for the unknown topic id {topic:02x?}");
                let records = self.records(size)?;
                self.outbox.push(&messages::fetch_answer(correlation, &topic, partition, size), &records);
            }
            (METADATA, 0..=13) => {
                let topics = messages::metadata_wants_topics(version, &mut body)?;
                self.outbox.copy(&messages::metadata_answer(version, correlation, self.advertise, topics));
            }
            (API_VERSIONS, 0..=5) => self.outbox.copy(&messages::api_versions_answer(version, correlation)),
            _ => bail!("no answer for API key {key} version {version}"),
        }
        Ok(())
    }

    fn records(&mut self, size: usize) -> Result<Arc<[u8]>> {
        if let Some((_, batch)) = self.last.as_ref().filter(|(last, _)| *last == size) {
            return Ok(Arc::clone(batch));
        }
        let batch = self.batches.of(size)?;
        self.last = Some((size, Arc::clone(&batch)));
        Ok(batch)
    }
}
