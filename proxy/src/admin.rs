//! The admin listener: whether Skein lives, whether it is ready, what it counts, what it serves. Nothing can be changed here.

mod status;

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use serde_json::Value;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{AbortHandle, JoinHandle, JoinSet};

use crate::house::House;
use crate::listen;

/// Connections at a time; the oldest makes room for the next, so that those who say nothing keep nobody out.
const MOST: usize = 64;
/// How long a request may take to come, and how long it and its answer may take.
const HEAD: Duration = Duration::from_secs(5);
const WHOLE: Duration = Duration::from_secs(10);
/// Bytes of a request's head.
const BUFFER: usize = 16 << 10;

const TEXT: &str = "text/plain; charset=utf-8";
const JSON: &str = "application/json";
const METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// The admin listener, serving until it is dropped.
pub(crate) struct Admin {
    accepting: JoinHandle<()>,
}

impl Admin {
    /// Serves at a socket.
    pub(crate) fn open(socket: TcpListener, house: Arc<House>) -> Self {
        Self { accepting: tokio::spawn(accept(socket, house)) }
    }
}

impl Drop for Admin {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

async fn accept(socket: TcpListener, house: Arc<House>) {
    // They end with this task.
    let mut served = JoinSet::new();
    let mut open: VecDeque<AbortHandle> = VecDeque::new();
    loop {
        while served.try_join_next().is_some() {}
        open.retain(|one| !one.is_finished());
        match socket.accept().await {
            Ok((stream, _)) => {
                if open.len() >= MOST
                    && let Some(oldest) = open.pop_front()
                {
                    oldest.abort();
                }
                let house = Arc::clone(&house);
                open.push_back(served.spawn(async move {
                    // One that is too slow is cut; nobody needs to hear of it.
                    let _ = tokio::time::timeout(WHOLE, serve(stream, house)).await;
                }));
            }
            // The listeners of clients say so already.
            Err(_) => tokio::time::sleep(listen::AGAIN).await,
        }
    }
}

/// One request, and its answer.
async fn serve(stream: TcpStream, house: Arc<House>) -> hyper::Result<()> {
    let mut http = http1::Builder::new();
    http.keep_alive(false).max_buf_size(BUFFER).timer(TokioTimer::new()).header_read_timeout(HEAD);
    let service = service_fn(|request: Request<Incoming>| {
        let response = answer(request.method(), request.uri().path(), &house);
        async move { Ok::<_, Infallible>(response) }
    });
    http.serve_connection(TokioIo::new(stream), service).await
}

fn answer(method: &Method, path: &str, house: &House) -> Response<Full<Bytes>> {
    if !matches!(*method, Method::GET | Method::HEAD) {
        let mut refused = response(StatusCode::METHOD_NOT_ALLOWED, TEXT, "nothing can be changed here\n".to_owned());
        refused.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
        return refused;
    }
    match path {
        "/livez" => response(StatusCode::OK, TEXT, "lives\n".to_owned()),
        "/readyz" => {
            let (is_ready, body) = house.shown(status::ready);
            let code = if is_ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
            response(code, JSON, line(&body))
        }
        "/metrics" => response(StatusCode::OK, METRICS, house.metrics()),
        "/status" => response(StatusCode::OK, JSON, line(&house.shown(status::status))),
        "/graph" => response(StatusCode::OK, TEXT, house.shown(|board| board.graph.clone())),
        "/config" => response(StatusCode::OK, JSON, house.shown(|board| line(&board.written))),
        _ => response(StatusCode::NOT_FOUND, TEXT, "/livez, /readyz, /metrics, /status, /graph, /config\n".to_owned()),
    }
}

fn line(value: &Value) -> String {
    format!("{value}\n")
}

fn response(code: StatusCode, kind: &'static str, body: String) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from(body)));
    *response.status_mut() = code;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}
