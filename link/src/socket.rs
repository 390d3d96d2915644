//! What is asked of every socket, of clients and of brokers.

use std::io;
use std::time::Duration;

use socket2::{SockRef, TcpKeepalive};
use tokio::net::TcpStream;

/// How long nothing may come before the other side is asked whether it is still there.
const SILENT: Duration = Duration::from_secs(60);
/// Time between two such questions.
const BETWEEN: Duration = Duration::from_secs(10);
/// So many without an answer end the connection.
const QUESTIONS: u32 = 6;
/// How long what was sent may go without an acknowledgement. Longer than a peer may take nothing (see `proxy`), so that one
/// which is slow, but there, ends with the reason that says so.
#[cfg(any(target_os = "linux", target_os = "android", target_os = "freebsd"))]
const UNACKNOWLEDGED: Duration = Duration::from_secs(75);

/// Sends small answers at once, and finds out when the other side has gone without a word.
///
/// # Errors
/// The socket is gone already.
pub fn set_up(stream: &TcpStream) -> io::Result<()> {
    // Without it answers of a few bytes wait for acknowledgements.
    stream.set_nodelay(true)?;
    let socket = SockRef::from(stream);
    let keepalive = TcpKeepalive::new().with_time(SILENT).with_interval(BETWEEN).with_retries(QUESTIONS);
    socket.set_tcp_keepalive(&keepalive)?;
    #[cfg(any(target_os = "linux", target_os = "android", target_os = "freebsd"))]
    socket.set_tcp_user_timeout(Some(UNACKNOWLEDGED))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    #[cfg(target_os = "linux")]
    async fn both_ends_of_silence_are_set() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        set_up(&stream).unwrap();
        let socket = SockRef::from(&stream);
        assert!(socket.keepalive().unwrap() && stream.nodelay().unwrap());
        assert_eq!(socket.tcp_keepalive_time().unwrap(), SILENT);
        assert_eq!(socket.tcp_user_timeout().unwrap(), Some(UNACKNOWLEDGED));
    }
}
