//! One question over HTTPS: to who has the keys of tokens, or who gives tokens out.
//!
//! With `hyper`, which the admin listener has already, on a stream of rustls: no redirects, no proxies, no cookies, no pool. A
//! whole HTTP client (`reqwest`) would add all of these, and its own crates for them, for one question in some minutes.

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Bytes;
use hyper::client::conn::http1;
use hyper::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HOST, HeaderValue};
use hyper::{Method, Request, StatusCode, Uri};
use hyper_util::rt::TokioIo;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use skein_settings::Fault;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

/// How long the whole of a question may take: the name, the connection, TLS, the answer.
const PATIENCE: Duration = Duration::from_secs(10);
/// Bytes of an answer's head.
const HEAD: usize = 16 << 10;

/// Where something is asked, and how whoever is there is verified.
#[derive(Clone)]
pub struct Endpoint {
    host: String,
    port: u16,
    /// The path, and what follows a `?`.
    path: String,
    /// `None`: without TLS, on this machine only.
    trust: Option<Trust>,
}

/// Whom to trust. It reads files, and blocks.
type Trust = Arc<dyn Fn() -> Result<Arc<ClientConfig>, Fault> + Send + Sync>;

/// What is asked.
pub(crate) struct Question {
    pub(crate) method: Method,
    /// Its body: a form. Empty: none.
    pub(crate) form: String,
    /// Who asks.
    pub(crate) authorization: Option<HeaderValue>,
}

impl Endpoint {
    /// From a URL: `https://…`, or `http://…` to this machine. `trust`: which roots are trusted. It is asked again for each
    /// question, off the threads of connections, so that a file that is replaced counts for the next one.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn new(
        url: &str, trust: impl Fn() -> Result<Arc<ClientConfig>, Fault> + Send + Sync + 'static,
    ) -> Result<Self, String> {
        let uri: Uri = url.parse().map_err(|_| "it is no URL".to_owned())?;
        let authority = uri.authority().ok_or("a URL without a host")?;
        if authority.as_str().contains('@') {
            return Err("a URL with a name or a password in it".to_owned());
        }
        let host = authority.host().trim_start_matches('[').trim_end_matches(']').to_owned();
        let is_here = host == "localhost" || host.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback());
        let trust: Trust = Arc::new(trust);
        let (trust, usual) = match uri.scheme_str() {
            Some("https") => (Some(trust), 443),
            // Whoever can change what is said on the way would be believed in whatever they say.
            Some("http") if is_here => (None, 80),
            Some("http") => return Err("a URL without TLS that leads to another machine".to_owned()),
            Some(_) | None => return Err("a URL that begins neither with https:// nor with http://".to_owned()),
        };
        let path = uri.path_and_query().map_or("/", |path| path.as_str()).to_owned();
        Ok(Self { host, port: authority.port_u16().unwrap_or(usual), path, trust })
    }

    /// Asks, and waits for an answer of at most so many bytes.
    ///
    /// # Errors
    /// What went wrong, in words without anything that was sent.
    pub(crate) async fn ask(&self, question: Question, most: usize) -> Result<(StatusCode, Bytes), String> {
        let (host, port) = (&self.host, self.port);
        let answered = tokio::time::timeout(PATIENCE, self.asked(question, most)).await;
        let late = || Err(format!("no answer within {} s", PATIENCE.as_secs()));
        answered.unwrap_or_else(|_| late()).map_err(|why| format!("{host}:{port}: {why}"))
    }

    async fn asked(&self, question: Question, most: usize) -> Result<(StatusCode, Bytes), String> {
        let request = self.request(question)?;
        let connected = TcpStream::connect((self.host.as_str(), self.port)).await;
        let stream = connected.map_err(|error| error.to_string())?;
        let Some(trust) = self.trust.clone() else { return exchange(stream, request, most).await };
        let tls = tokio::task::spawn_blocking(move || trust()).await.map_err(|error| error.to_string())?;
        let tls = tls.map_err(|fault| fault.what)?;
        let name = ServerName::try_from(self.host.clone()).map_err(|error| error.to_string())?;
        let stream = TlsConnector::from(tls).connect(name, stream).await;
        exchange(stream.map_err(|error| format!("TLS: {error}"))?, request, most).await
    }

    fn request(&self, question: Question) -> Result<Request<Full<Bytes>>, String> {
        let host = if self.host.contains(':') { format!("[{}]", self.host) } else { self.host.clone() };
        let mut request = Request::builder().method(question.method).uri(self.path.as_str());
        request = request.header(HOST, format!("{host}:{}", self.port)).header(ACCEPT, "application/json");
        if !question.form.is_empty() {
            request = request.header(CONTENT_TYPE, "application/x-www-form-urlencoded");
        }
        if let Some(authorization) = question.authorization {
            request = request.header(AUTHORIZATION, authorization);
        }
        request.body(Full::new(Bytes::from(question.form))).map_err(|_| "the question cannot be sent".to_owned())
    }
}

/// Where it is, without its path, which may hold a key, and without what is shown there.
impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Endpoint({}:{})", self.host, self.port)
    }
}

/// One request, and its answer.
async fn exchange<S: AsyncRead + AsyncWrite + Unpin + Send + 'static>(
    stream: S, request: Request<Full<Bytes>>, most: usize,
) -> Result<(StatusCode, Bytes), String> {
    let mut http = http1::Builder::new();
    http.max_buf_size(HEAD);
    let (mut sender, connection) = http.handshake(TokioIo::new(stream)).await.map_err(|error| error.to_string())?;
    // It ends with this question, however that ends.
    let mut talking = tokio::task::JoinSet::new();
    talking.spawn(connection);
    let answer = sender.send_request(request).await.map_err(|error| error.to_string())?;
    let status = answer.status();
    let body = Limited::new(answer.into_body(), most).collect().await;
    let body = body.map_err(|error| format!("its answer broke off or has more than {most} bytes: {error}"))?;
    Ok((status, body.to_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_taken_apart() {
        let trust = || crate::keys::tests::trusts(rustls::RootCertStore::empty());
        let parsed = |url: &str| Endpoint::new(url, trust()).map(|found| (found.host, found.port, found.path));
        for (url, host, port, path) in [
            ("https://id.example.com", "id.example.com", 443, "/"),
            ("https://id.example.com:8443/keys?x=1", "id.example.com", 8443, "/keys?x=1"),
            ("https://[::1]/keys", "::1", 443, "/keys"),
            ("http://localhost/keys", "localhost", 80, "/keys"),
            ("http://[::1]:8080/keys", "::1", 8080, "/keys"),
        ] {
            assert_eq!(parsed(url), Ok((host.to_owned(), port, path.to_owned())), "{url}");
        }
        for (url, wanted) in [
            ("", "no URL"),
            ("/keys", "without a host"),
            ("http://id.example.com/keys", "without TLS"),
            ("ftp://id.example.com/keys", "begins neither"),
            ("https://a:b@id.example.com/", "a password in it"),
        ] {
            assert!(parsed(url).unwrap_err().contains(wanted), "{url}");
        }
    }
}
