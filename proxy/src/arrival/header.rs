//! The header of the PROXY protocol, of either version, in which a balancer says who the client is.

use std::io;
use std::net::SocketAddr;

use proxy_header::{ParseConfig, ProxyHeader};
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;

use crate::events::What;

/// What a header of version 1 and one of version 2 begin with.
const TEXT: &[u8] = b"PROXY ";
const BINARY: &[u8] = b"\r\n\r\n\0\r\nQUIT\n";
/// Bytes that headers of both versions have at least.
const LEAST: usize = 12;
/// Bytes of a header of version 1, and of what comes behind the first 16 of one of version 2: addresses and notes.
const MOST_TEXT: usize = 107;
const MOST_NOTES: usize = 4096;

/// Whether some bytes are the beginning of a header, as far as they go.
pub(super) fn begins(bytes: &[u8]) -> bool {
    let agree = |header: &[u8]| bytes.iter().zip(header).all(|(found, wanted)| found == wanted);
    !bytes.is_empty() && (agree(TEXT) || agree(BINARY))
}

/// Takes the header from a socket, and not one byte more: whose address it says, unless the balancer speaks for itself.
pub(super) async fn read(socket: &mut TcpStream) -> Result<Option<SocketAddr>, What> {
    let mut header = vec![0; LEAST];
    socket.read_exact(&mut header).await.map_err(broken)?;
    if header == BINARY {
        binary(socket, &mut header).await?;
    } else {
        text(socket, &mut header).await?;
    }
    let config = ParseConfig { include_tlvs: false, allow_v1: true, allow_v2: true };
    match ProxyHeader::parse(&header, config) {
        Ok((parsed, length)) if length == header.len() => Ok(parsed.proxied_address().map(|address| address.source)),
        Ok(_) | Err(_) => Err(What::HeaderMalformed),
    }
}

async fn binary(socket: &mut TcpStream, header: &mut Vec<u8>) -> Result<(), What> {
    let mut more = [0; 4];
    socket.read_exact(&mut more).await.map_err(broken)?;
    header.extend_from_slice(&more);
    let [_, _, high, low] = more;
    let notes = usize::from(u16::from_be_bytes([high, low]));
    if notes > MOST_NOTES {
        return Err(What::HeaderMalformed);
    }
    let begin = header.len();
    header.resize(begin + notes, 0);
    let notes = header.get_mut(begin..).unwrap_or_default();
    socket.read_exact(notes).await.map(drop).map_err(broken)
}

/// Takes what is there up to the end of the line: what comes behind it is the client's.
async fn text(socket: &mut TcpStream, header: &mut Vec<u8>) -> Result<(), What> {
    while header.last() != Some(&b'\n') {
        let mut seen = [0; MOST_TEXT];
        let room = seen.get_mut(..MOST_TEXT.saturating_sub(header.len())).unwrap_or_default();
        if room.is_empty() {
            return Err(What::HeaderMalformed);
        }
        let found = socket.peek(room).await.map_err(broken)?;
        if found == 0 {
            return Err(What::LeftInside);
        }
        let there = room.get(..found).unwrap_or_default();
        let line = there.iter().position(|byte| *byte == b'\n').map_or(found, |end| end + 1);
        let taken = room.get_mut(..line).unwrap_or_default();
        socket.read_exact(taken).await.map_err(broken)?;
        header.extend_from_slice(taken);
    }
    Ok(())
}

fn broken(error: io::Error) -> What {
    if error.kind() == io::ErrorKind::UnexpectedEof { What::LeftInside } else { What::Broken(error) }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::io::AsyncWriteExt;
    use tokio::net::TcpListener;

    use super::*;

    /// What is made of some bytes, sent in pieces of a length, and what is left behind them.
    async fn of(bytes: &[u8], piece: usize) -> (Result<Option<SocketAddr>, What>, Vec<u8>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let bytes = bytes.to_vec();
        let sending = tokio::spawn(async move {
            let mut socket = TcpStream::connect(address).await.unwrap();
            socket.set_nodelay(true).unwrap();
            for piece in bytes.chunks(piece) {
                // Whoever has seen enough has hung up.
                if socket.write_all(piece).await.is_err() {
                    return;
                }
                tokio::time::sleep(Duration::from_micros(200)).await;
            }
        });
        let (mut socket, _) = listener.accept().await.unwrap();
        let read = read(&mut socket).await;
        let mut rest = Vec::new();
        if read.is_ok() {
            socket.read_to_end(&mut rest).await.unwrap();
        }
        drop(socket);
        sending.await.unwrap();
        (read, rest)
    }

    fn binary(command: u8, kind: u8, addresses: &[u8]) -> Vec<u8> {
        let length = u16::try_from(addresses.len()).unwrap().to_be_bytes();
        [BINARY, &[command, kind], &length, addresses].concat()
    }

    #[tokio::test]
    async fn whatever_comes_behind_a_header_stays_and_however_it_is_cut_it_says_the_same() {
        let v4 = [10, 1, 2, 3, 10, 0, 0, 1, 0x30, 0x39, 0x23, 0x84];
        let noted = [&v4[..], &[0x04, 0x00, 0x01, 0x00]].concat();
        let mut v6 = [0; 36];
        (v6[15], v6[32], v6[33]) = (7, 0x30, 0x39);
        let all: [(Vec<u8>, Option<&str>); 7] = [
            (b"PROXY TCP4 10.1.2.3 10.0.0.1 12345 9092\r\n".to_vec(), Some("10.1.2.3:12345")),
            (b"PROXY TCP6 ::7 ::1 12345 9092\r\n".to_vec(), Some("[::7]:12345")),
            (b"PROXY UNKNOWN\r\n".to_vec(), None),
            (binary(0x21, 0x11, &v4), Some("10.1.2.3:12345")),
            (binary(0x21, 0x11, &noted), Some("10.1.2.3:12345")),
            (binary(0x21, 0x21, &v6), Some("[::7]:12345")),
            (binary(0x20, 0x00, &[]), None),
        ];
        for (header, wanted) in all {
            let wanted: Option<SocketAddr> = wanted.map(|wanted| wanted.parse().unwrap());
            let bytes = [&header[..], b"\0\0\0\x08\nrest"].concat();
            for piece in [1, 5, bytes.len()] {
                let (read, rest) = of(&bytes, piece).await;
                assert_eq!(read.unwrap(), wanted);
                assert_eq!(rest, b"\0\0\0\x08\nrest");
            }
        }
    }

    #[tokio::test]
    async fn what_is_no_header_and_what_is_too_long_for_one_is_refused() {
        let long = format!("PROXY TCP4 {}\r\n", "1".repeat(200));
        let notes = vec![0; MOST_NOTES + 1];
        for bytes in [
            &b"PROXY TCP4 a b c d\r\n"[..],
            b"PROXY NOTHING AT ALL\r\n",
            b"POST / HTTP/1.1\r\n\r\n",
            long.as_bytes(),
            &binary(0x21, 0x11, &notes),
            &binary(0x21, 0x11, &[10, 0, 0, 1]),
            &binary(0x31, 0x11, &[0; 12]),
        ] {
            let (read, _) = of(bytes, bytes.len()).await;
            assert!(matches!(read, Err(What::HeaderMalformed)), "{read:?} of {bytes:?}");
        }
        let (read, _) = of(b"PROXY TCP4 10.0.0.1", 30).await;
        assert!(matches!(read, Err(What::LeftInside)), "{read:?}");
    }

    #[tokio::test]
    async fn whatever_comes_is_a_header_or_none_and_what_is_behind_it_stays() {
        let v4 = [10, 1, 2, 3, 10, 0, 0, 1, 0x30, 0x39, 0x23, 0x84];
        let headers = [b"PROXY TCP4 10.1.2.3 10.0.0.1 12345 9092\r\n".to_vec(), binary(0x21, 0x11, &v4)];
        let mut seed = 0x5eed_u64;
        let mut next = |below: usize| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            usize::try_from(seed >> 33).unwrap() % below
        };
        for turn in 0..400 {
            let mut bytes = headers[turn % 2].clone();
            for _ in 0..=next(3) {
                let place = next(bytes.len());
                match next(4) {
                    0 => bytes[place] = u8::try_from(next(256)).unwrap(),
                    1 => bytes.truncate(place + 1),
                    2 => bytes.insert(place, u8::try_from(next(256)).unwrap()),
                    _ => bytes.extend_from_within(place..),
                }
            }
            let all = [&bytes[..], b"rest"].concat();
            let (read, rest) =
                tokio::time::timeout(Duration::from_secs(5), of(&all, 1 + next(all.len()))).await.unwrap();
            if read.is_ok() {
                assert!(all.ends_with(&rest), "{all:02x?}");
            }
        }
    }

    #[test]
    fn a_header_is_told_by_its_first_byte_and_a_frame_is_none() {
        assert!(begins(b"P") && begins(b"\r") && begins(b"PROXY TCP4 ") && begins(BINARY));
        assert!(!begins(b"") && !begins(b"\0\0\0\x20") && !begins(b"PORXY") && !begins(&[0x16, 3, 1]));
    }
}
