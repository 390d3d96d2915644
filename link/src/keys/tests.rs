use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};

use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use rustls::pki_types::PrivateKeyDer;
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

use skein_settings::{Fault, Spanned};

use super::*;
use crate::tls;

/// What a client shows and trusts that trusts these roots.
pub(crate) fn trusting(roots: RootCertStore) -> Arc<ClientConfig> {
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    Arc::new(config.with_root_certificates(roots).with_no_client_auth())
}

/// The same, each time that somebody asks for it.
pub(crate) fn trusts(roots: RootCertStore) -> impl Fn() -> Result<Arc<ClientConfig>, Fault> {
    let config = trusting(roots);
    move || Ok(Arc::clone(&config))
}

/// What a question says: its path, its head for `authorization`, its form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Asked {
    pub(crate) path: String,
    pub(crate) authorization: Option<String>,
    pub(crate) form: String,
}

/// A server that answers as it is told, and counts.
#[derive(Default)]
pub(crate) struct Server {
    answer: Mutex<(u16, String)>,
    questions: AtomicUsize,
    last: Mutex<Option<Asked>>,
}

impl Server {
    pub(crate) fn answers(&self, status: u16, body: &str) {
        *self.answer.lock().unwrap() = (status, body.to_owned());
    }

    pub(crate) fn questions(&self) -> usize {
        self.questions.load(Ordering::SeqCst)
    }

    pub(crate) fn last(&self) -> Asked {
        self.last.lock().unwrap().clone().unwrap()
    }

    /// Serves without TLS.
    pub(crate) async fn start(self: &Arc<Self>) -> SocketAddr {
        self.serve(None).await
    }

    async fn serve(self: &Arc<Self>, tls: Option<TlsAcceptor>) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let server = Arc::clone(self);
        tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                let (server, tls) = (Arc::clone(&server), tls.clone());
                tokio::spawn(async move {
                    match tls {
                        None => server.answer(stream).await,
                        // Who does not trust it goes away.
                        Some(tls) => {
                            if let Ok(stream) = tls.accept(stream).await {
                                server.answer(stream).await;
                            }
                        }
                    }
                });
            }
        });
        address
    }

    async fn answer(&self, stream: impl AsyncRead + AsyncWrite + Unpin + Send) {
        let service = service_fn(|request: Request<Incoming>| async move {
            let (head, body) = request.into_parts();
            let form = String::from_utf8(body.collect().await.unwrap().to_bytes().to_vec()).unwrap();
            let authorization = head.headers.get("authorization").map(|value| value.to_str().unwrap().to_owned());
            let path = head.uri.path_and_query().unwrap().to_string();
            *self.last.lock().unwrap() = Some(Asked { path, authorization, form });
            self.questions.fetch_add(1, Ordering::SeqCst);
            let (status, body) = self.answer.lock().unwrap().clone();
            let response = Response::builder().status(status).header("location", "/elsewhere");
            Ok::<_, Infallible>(response.body(Full::new(Bytes::from(body))).unwrap())
        });
        let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
    }
}

/// A set of so many keys.
fn set(keys: u8) -> String {
    let key =
        |number| format!("{{\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"kid\":\"{number}\",\"x\":\"{}\"}}", "A".repeat(43));
    format!("{{\"keys\":[{}]}}", (0..keys).map(key).collect::<Vec<_>>().join(","))
}

fn endpoint(url: &str) -> Endpoint {
    Endpoint::new(url, trusts(RootCertStore::empty())).unwrap()
}

fn source(address: SocketAddr, refresh: Duration) -> KeySource {
    KeySource::start(KeyOrigin::Endpoint(endpoint(&format!("http://{address}/keys?of=us")), refresh))
}

/// Waits until the keys are so many.
async fn until(source: &KeySource, keys: usize) {
    let mut watched = source.watch();
    let there = watched.wait_for(|found| found.as_ref().is_some_and(|found| found.len() == keys));
    tokio::time::timeout(Duration::from_secs(20), there).await.unwrap().unwrap();
}

#[tokio::test]
async fn keys_are_fetched_and_fetched_again() {
    let server = Arc::new(Server::default());
    server.answers(200, &set(1));
    let source = source(server.start().await, Duration::from_millis(20));
    until(&source, 1).await;
    assert_eq!(server.last(), Asked { path: "/keys?of=us".to_owned(), authorization: None, form: String::new() });
    server.answers(200, &set(2));
    until(&source, 2).await;
    assert_eq!((source.keys().len(), source.failure()), (2, None));
}

#[tokio::test]
async fn keys_that_were_good_stay_while_nothing_better_is_to_be_had() {
    let server = Arc::new(Server::default());
    server.answers(200, &set(1));
    let source = source(server.start().await, Duration::from_millis(20));
    until(&source, 1).await;
    for (status, body, wanted) in [
        (503, String::new(), "503"),
        (302, String::new(), "302"),
        (200, "no set".to_owned(), "no JSON"),
        (200, " ".repeat(MOST_KEYS_BYTES + 1), "more than"),
    ] {
        server.answers(status, &body);
        let failed = async {
            while !source.failure().is_some_and(|failure| failure.contains(wanted)) {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(20), failed).await.unwrap();
        assert_eq!(source.keys().len(), 1, "{status}");
    }
}

#[tokio::test]
async fn a_flood_of_unknown_keys_is_one_question() {
    let server = Arc::new(Server::default());
    server.answers(200, &set(1));
    let source = Arc::new(source(server.start().await, USUAL_REFRESH));
    let asking = (0..500).map(|_| {
        let source = Arc::clone(&source);
        tokio::spawn(async move { source.newer().await.len() })
    });
    for one in asking.collect::<Vec<_>>() {
        assert_eq!(one.await.unwrap(), 1);
    }
    assert_eq!((source.newer().await.len(), server.questions()), (1, 1));
}

/// Who this machine is, and the certificate that says so.
fn identity() -> (TlsAcceptor, rcgen::Certificate) {
    let key = rcgen::KeyPair::generate().unwrap();
    let certificate = rcgen::CertificateParams::new(vec!["localhost".to_owned()]).unwrap().self_signed(&key).unwrap();
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let key = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
    let config = config.with_no_client_auth().with_single_cert(vec![certificate.der().clone()], key).unwrap();
    (TlsAcceptor::from(Arc::new(config)), certificate)
}

#[tokio::test]
async fn only_a_server_that_is_trusted_is_believed() {
    let (acceptor, certificate) = identity();
    let server = Arc::new(Server::default());
    server.answers(200, &set(1));
    let port = server.serve(Some(acceptor)).await.port();

    let mut roots = RootCertStore::empty();
    roots.add(certificate.der().clone()).unwrap();
    let url = format!("https://localhost:{port}/");
    let trusted = KeySource::start(KeyOrigin::Endpoint(Endpoint::new(&url, trusts(roots)).unwrap(), USUAL_REFRESH));
    until(&trusted, 1).await;
    let doubted = KeySource::start(KeyOrigin::Endpoint(endpoint(&url), USUAL_REFRESH));
    assert!(doubted.newer().await.is_empty());
    assert!(doubted.failure().unwrap().contains("TLS"), "{:?}", doubted.failure());
}

#[tokio::test]
async fn a_file_of_whom_to_trust_that_is_replaced_counts_for_the_next_question() {
    let (right, wrong) = (identity(), identity());
    let server = Arc::new(Server::default());
    server.answers(200, &set(1));
    let port = server.serve(Some(right.0)).await.port();
    let path = std::env::temp_dir().join(format!("skein-keys-ca-{}", std::process::id()));
    std::fs::write(&path, wrong.1.pem()).unwrap();
    let ca = Spanned::new(0..0, path.clone());
    let endpoint = Endpoint::new(&format!("https://localhost:{port}/"), move || tls::trusting(Some(&ca))).unwrap();
    let source = KeySource::start(KeyOrigin::Endpoint(endpoint, USUAL_REFRESH));
    assert!(source.newer().await.is_empty());
    std::fs::write(&path, right.1.pem()).unwrap();
    until(&source, 1).await;
    std::fs::remove_file(path).unwrap();
}

#[tokio::test]
async fn a_file_is_read_again_when_it_changes() {
    let path = std::env::temp_dir().join(format!("skein-keys-{}", std::process::id()));
    std::fs::write(&path, set(1)).unwrap();
    let source = KeySource::start(KeyOrigin::File(path.clone()));
    until(&source, 1).await;
    std::fs::write(&path, set(3)).unwrap();
    until(&source, 3).await;
    std::fs::remove_file(&path).unwrap();
    let folder = KeySource::start(KeyOrigin::File(std::env::temp_dir()));
    assert!(folder.newer().await.is_empty() && folder.failure().unwrap().contains("no plain file"));
}

#[tokio::test]
async fn nobody_at_the_address_is_a_failure_that_says_so() {
    let gone = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let source = source(gone, USUAL_REFRESH);
    assert!(source.newer().await.is_empty());
    assert!(source.failure().unwrap().starts_with(&gone.to_string()), "{:?}", source.failure());
}
