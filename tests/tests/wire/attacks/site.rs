//! Two tenants at one port with TLS, told apart by names, each with a user of its own.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result};
use skein_tests::fake::Fake;
use skein_tests::pki::{Authority, Leaf};
use skein_tests::raw::Raw;
use skein_tests::skein::{Skein, Users};
use skein_tests::tls::{Dialer, Tunnel};
use skein_tests::{ports, process, workplace};

use crate::logins::door::{is_served, log_in, plain};
use crate::stage::{REAL_CLUSTER, SOON};

/// A user of each tenant; those of blue show a certificate as well.
pub const OF_RED: (&str, &str) = ("alice", "site-secret-of-alice");
pub const OF_BLUE: (&str, &str) = ("bob", "site-secret-of-bob");

/// An alert, and a message of a handshake, by the first byte of their records.
pub const ALERT: u8 = 0x15;
pub const HANDSHAKE: u8 = 0x16;

pub struct Site {
    pub skein: Skein,
    _fake: Fake,
    _users: [Users; 2],
    /// Signs the certificates of both tenants, and of clients.
    pub authority: Authority,
    /// Whom blue believes: what is written there.
    pub client_ca: PathBuf,
    pub bind: SocketAddr,
}

impl Site {
    pub fn new() -> Result<Site> {
        let fake = Fake::start(REAL_CLUSTER, &[1, 7])?.topic("t", &[1, 7]);
        let dir = workplace::run_dir("pki")?;
        let authority = Authority::new(&dir, "Tests")?;
        let client_ca = dir.join("clients.pem");
        std::fs::copy(authority.certificate(), &client_ca)?;
        let bind = SocketAddr::from((Ipv4Addr::LOCALHOST, ports::block(1)?));
        let bootstrap: Vec<_> = fake.bootstrap().iter().map(|address| format!("\"{address}\"")).collect();
        let mut text = format!("[clusters.one]\nbootstrap = [{}]\nnodes = \"1, 7\"\n", bootstrap.join(", "));
        let users = [Users::of(&[OF_RED])?, Users::of(&[OF_BLUE])?];
        for ((name, users), more) in [("red", &users[0]), ("blue", &users[1])]
            .into_iter()
            .zip([String::new(), format!("tls.client-ca = {client_ca:?}\ntls.client-certificate = \"required\"")])
        {
            let (of_all, host) = (format!("*.{name}.example.com"), format!("{name}.example.com"));
            let shown = authority.issue(name, &Leaf::server(&[&of_all, &host]))?;
            text += &format!(
                r#"
[virtual-clusters.{name}]
id = "{name}-1"
target.cluster = "one"

[virtual-clusters.{name}.listeners.tls]
bind = "{bind}"
sni = "broker-$(node).{name}.example.com"
bootstrap-sni = "{host}"
advertise-port = 443
tls.certificate = {:?}
tls.key = {:?}
{more}
login = {{ mechanisms = ["PLAIN"], users = {:?} }}
"#,
                shown.certificate,
                shown.key,
                users.path()
            );
        }
        Ok(Site { skein: Skein::start_saying(&text, "trace")?, _fake: fake, _users: users, authority, client_ca, bind })
    }

    pub fn red(&self) -> Result<Dialer> {
        Dialer::new("red.example.com", &self.authority.certificate(), None)
    }

    /// A client with a certificate, as blue wants it.
    pub fn blue(&self) -> Result<Dialer> {
        let bob = self.authority.issue("bob", &Leaf::client("CN=bob"))?;
        Dialer::new("blue.example.com", &self.authority.certificate(), Some(&bob))
    }

    /// The code that somebody hears who logs in there.
    pub fn told(&self, tunnel: &Tunnel, (user, password): (&str, &str)) -> Result<i16> {
        Ok(log_in(&mut Raw::connect(tunnel.address)?, &plain(user, password))?.error_code)
    }

    /// Sees that whoever is right gets in, and is served.
    pub fn serves_others(&self) -> Result<()> {
        let tunnel = self.red()?.tunnel(self.bind, b"")?;
        let mut raw = Raw::connect(tunnel.address)?;
        log_in(&mut raw, &plain(OF_RED.0, OF_RED.1))?;
        is_served(&mut raw)
    }

    pub fn logs(&self, what: &str) -> Result<()> {
        process::until(what, SOON, || Ok(self.skein.log().contains(what).then_some(())))
            .with_context(|| self.skein.log())
    }

    /// What comes back for some bytes, up to the end of the connection; at most 64 KiB, for ten seconds.
    pub fn answer(&self, bytes: &[u8]) -> Result<Vec<u8>> {
        let mut socket = TcpStream::connect(self.bind)?;
        socket.set_write_timeout(Some(SOON))?;
        // It hangs up before all of it is sent, perhaps.
        let _ = socket.write_all(bytes);
        first_of(&mut socket, SOON)
    }
}

/// What comes within a time, up to the end or a moment of silence behind it.
pub fn first_of(socket: &mut TcpStream, within: Duration) -> Result<Vec<u8>> {
    let (mut answer, mut buffer) = (Vec::new(), [0; 4096]);
    socket.set_read_timeout(Some(within))?;
    while answer.len() < 64 << 10 {
        match socket.read(&mut buffer) {
            Ok(0) | Err(_) => break,
            Ok(read) => answer.extend_from_slice(&buffer[..read]),
        }
        socket.set_read_timeout(Some(Duration::from_millis(300)))?;
    }
    Ok(answer)
}

/// A hello by hand. `version`: of TLS, as of old, without the extension that says more; `None`: 1.3 and 1.2. `name`: what it
/// says of the server; `padding`: bytes without a meaning.
pub fn hello(version: Option<u16>, name: &[u8], padding: usize) -> Vec<u8> {
    let long = |bytes: &[u8]| [&u16::try_from(bytes.len()).unwrap_or(u16::MAX).to_be_bytes()[..], bytes].concat();
    let extension = |kind: u16, bytes: &[u8]| [&kind.to_be_bytes()[..], &long(bytes)].concat();
    let mut extensions = extension(0, &long(&[&[0][..], &long(name)].concat()));
    extensions.extend(extension(10, &long(&[0, 0x1d, 0, 0x17])));
    extensions.extend(extension(13, &long(&[4, 3, 8, 4, 4, 1, 5, 3, 8, 5])));
    if version.is_none() {
        extensions.extend(extension(43, &[4, 3, 4, 3, 3]));
        extensions.extend(extension(51, &long(&[&[0, 0x1d][..], &long(&[9; 32])].concat())));
    }
    if padding > 0 {
        extensions.extend(extension(21, &vec![0; padding]));
    }
    let mut body = version.map_or(0x0303, |version| version.min(0x0303)).to_be_bytes().to_vec();
    body.extend([7; 32]);
    body.push(0);
    body.extend(long(&[0x13, 1, 0x13, 2, 0xc0, 0x2b, 0xc0, 0x2f, 0xc0, 0x13, 0, 0x2f]));
    body.extend([1, 0]);
    body.extend(long(&extensions));
    let [_, high, middle, low] = u32::try_from(body.len()).unwrap_or(u32::MAX).to_be_bytes();
    let message = [&[1, high, middle, low][..], &body].concat();
    records(&message)
}

/// A message of a handshake in records as large as they may be.
pub fn records(message: &[u8]) -> Vec<u8> {
    let record = |part: &[u8]| {
        let length = u16::try_from(part.len()).unwrap_or(u16::MAX).to_be_bytes();
        [&[HANDSHAKE, 3, 1][..], &length, part].concat()
    };
    message.chunks(1 << 14).flat_map(record).collect()
}
