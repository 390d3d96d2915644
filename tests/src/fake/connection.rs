//! One connection: read a request, write it into the ledger, ask the script, answer.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::{Duration, Instant};

use bytes::{Buf, BufMut, Bytes, BytesMut};
use socket2::SockRef;

use super::ledger::{Received, Sent};
use super::node::Life;
use super::script::{Plan, Say, Then};
use super::segments::Segments;
use super::{World, answers, lock};
use crate::apis::{self, Header};

/// A request of more is refused, as a broker refuses it.
const LARGEST: usize = 104_857_600;

/// What a broker does with a request if nobody says otherwise.
pub(super) enum Reply {
    Body(Segments),
    Silence,
    Close,
}

/// Serves until the client closes, the script says so, or the node is killed.
pub(super) fn serve(stream: &TcpStream, node: i32, number: usize, world: &World, life: &Life) {
    while let Some(request) = next(stream, node, number) {
        world.ledger.received(request.clone());
        let plan = lock(&world.script).plan(node, request.key);
        life.sleep(plan.delay);
        if let Some(gate) = &plan.gate {
            life.pass(gate);
        }
        let then = match say(stream, &request, &plan, world, life) {
            Ok(then) => then,
            Err(_) => return,
        };
        match then {
            Then::Next => {}
            Then::Close => return drop(stream.shutdown(Shutdown::Both)),
            Then::Reset => return reset(stream),
            Then::HalfClose => {
                drop(stream.shutdown(Shutdown::Write));
                while let Some(request) = next(stream, node, number) {
                    world.ledger.received(request);
                }
                return;
            }
            Then::StopReading => return life.linger(stream),
        }
    }
}

/// `None`: the connection has ended, or what came is no request.
fn next(mut stream: &TcpStream, node: i32, connection: usize) -> Option<Received> {
    let mut length = [0; 4];
    stream.read_exact(&mut length).ok()?;
    let length = usize::try_from(i32::from_be_bytes(length)).ok().filter(|&length| length <= LARGEST)?;
    let mut frame = vec![0; length];
    stream.read_exact(&mut frame).ok()?;
    let mut frame = Bytes::from(frame);
    let (key, version) = (frame.try_get_i16().ok()?, frame.try_get_i16().ok()?);
    let correlation_id = frame.try_get_i32().ok()?;
    let client_id = match usize::try_from(frame.try_get_i16().ok()?) {
        Err(_) => None,
        Ok(length) if length > frame.len() => return None,
        Ok(length) => Some(String::from_utf8_lossy(&frame.split_to(length)).into_owned()),
    };
    if apis::header(key, version) == Header::Flexible {
        skip_tags(&mut frame)?;
    }
    Some(Received { node, connection, key, version, correlation_id, client_id, body: frame, at: Instant::now() })
}

fn skip_tags(frame: &mut Bytes) -> Option<()> {
    for _ in 0..uvarint(frame)? {
        uvarint(frame)?;
        let size = usize::try_from(uvarint(frame)?).ok().filter(|&size| size <= frame.len())?;
        frame.advance(size);
    }
    Some(())
}

fn uvarint(frame: &mut Bytes) -> Option<u32> {
    let mut value = 0;
    for shift in [0, 7, 14, 21, 28] {
        let byte = frame.try_get_u8().ok()?;
        value |= u32::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(value);
        }
    }
    None
}

/// Writes what the plan, or else the broker, says; what is to follow.
fn say(mut stream: &TcpStream, request: &Received, plan: &Plan, world: &World, life: &Life) -> io::Result<Then> {
    let body = match &plan.say {
        Say::Nothing => return Ok(plan.then),
        Say::Verbatim(bytes) => {
            stream.write_all(bytes)?;
            return Ok(plan.then);
        }
        Say::Body(body) => Segments::from(body.clone()),
        Say::Made(answering) => Segments::from(answering(request)),
        Say::Default => match answers::answer(&mut lock(&world.model), request) {
            Reply::Body(body) => body,
            Reply::Silence => return Ok(plan.then),
            Reply::Close => return Ok(Then::Close),
        },
    };
    if plan.garble.is_empty() && plan.length.is_none() && plan.cut.is_none() && plan.trickle.is_none() {
        write_plain(stream, request, &body, world)?;
    } else {
        write_deviating(stream, request, &body, plan, life)?;
    }
    Ok(plan.then)
}

fn header(request: &Received, body: usize) -> BytesMut {
    let mut header = BytesMut::new();
    let tags = usize::from(apis::answer_header(request.key, request.version) == Header::Flexible);
    header.put_u32(u32::try_from(4 + tags + body).unwrap_or(u32::MAX));
    header.put_i32(request.correlation_id);
    header.put_bytes(0, tags);
    header
}

fn write_plain(mut stream: &TcpStream, request: &Received, body: &Segments, world: &World) -> io::Result<()> {
    let header = header(request, body.len());
    if body.len() < 1 << 16 {
        let mut frame = header.clone();
        frame.put_slice(&body.join());
        stream.write_all(&frame)?;
    } else {
        stream.write_all(&header)?;
        body.write(&mut stream)?;
    }
    let mut crc = crc32c::crc32c(&header[8..]);
    body.each(&mut |piece| {
        crc = crc32c::crc32c_append(crc, piece);
        Ok(())
    })?;
    let bytes = (header.len() - 8 + body.len()) as u64;
    world.ledger.answered(Sent { connection: request.connection, key: request.key, bytes, crc });
    Ok(())
}

fn write_deviating(
    mut stream: &TcpStream, request: &Received, body: &Segments, plan: &Plan, life: &Life,
) -> io::Result<()> {
    let mut frame = header(request, body.len());
    frame.put_slice(&body.join());
    for &position in &plan.garble {
        if let Some(byte) = frame.get_mut(4 + position) {
            *byte = !*byte;
        }
    }
    if let Some(length) = plan.length {
        frame[..4].copy_from_slice(&length.to_be_bytes());
    }
    frame.truncate(plan.cut.unwrap_or(usize::MAX));
    let (step, pause) = plan.trickle.unwrap_or((usize::MAX, Duration::ZERO));
    for piece in frame.chunks(step.max(1)) {
        stream.write_all(piece)?;
        life.sleep(pause);
    }
    Ok(())
}

/// Ends with an RST: closing the socket without lingering, and without a FIN before.
fn reset(stream: &TcpStream) {
    drop(SockRef::from(stream).set_linger(Some(Duration::ZERO)));
}

/// Whether the other side has not closed, without reading on.
pub(super) fn is_alive(stream: &TcpStream, buffer: &mut [u8]) -> bool {
    drop(stream.set_read_timeout(Some(Duration::from_millis(20))));
    match stream.peek(buffer) {
        Ok(read) => read > 0,
        Err(error) => matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted),
    }
}
