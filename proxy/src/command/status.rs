//! `skein status`: what a running Skein says of itself.

use std::fmt::Write;
use std::time::Duration;

use http_body_util::{BodyExt, Empty, Limited};
use hyper::Request;
use hyper::body::Bytes;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::TcpStream;

use super::wrong::Wrong;

/// How long the answer may take.
const PATIENCE: Duration = Duration::from_secs(10);
/// Bytes of the answer: thousands of brokers fit.
const MOST: usize = 64 << 20;

/// Asks the admin listener at an address.
pub(super) async fn ask(admin: &str) -> Result<Value, Wrong> {
    let wrong = |why: String| {
        Wrong::new(format!(
            "no status from {admin}: {why}\nput `[admin]` with `bind = \"127.0.0.1:9644\"` into the file and start Skein \
             again, or say with `--admin` where it is watched"
        ))
    };
    let late = || format!("no answer within {} s", PATIENCE.as_secs());
    let body = tokio::time::timeout(PATIENCE, get(admin)).await.map_err(|_| wrong(late()))?.map_err(wrong)?;
    serde_json::from_slice(&body).map_err(|error| wrong(error.to_string()))
}

async fn get(admin: &str) -> Result<Bytes, String> {
    let stream = TcpStream::connect(admin).await.map_err(|error| error.to_string())?;
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(|error| error.to_string())?;
    let talking = tokio::spawn(connection);
    let request = Request::get("/status").header("host", admin).body(Empty::<Bytes>::new());
    let request = request.map_err(|error| error.to_string())?;
    let response = sender.send_request(request).await.map_err(|error| error.to_string())?;
    let status = response.status();
    let body = Limited::new(response.into_body(), MOST).collect().await.map_err(|error| error.to_string())?;
    talking.abort();
    if status.is_success() { Ok(body.to_bytes()) } else { Err(format!("it answers {status}")) }
}

/// For people: a line for each thing, indented below what it belongs to.
pub(super) fn shown(status: &Value) -> String {
    let mut text = String::new();
    let state = match (&status["draining"], &status["ready"]) {
        (Value::Bool(true), _) => "draining",
        (_, Value::Bool(true)) => "ready",
        _ => "not ready",
    };
    let _ = writeln!(text, "skein {}, {state}", word(&status["version"]));
    for (name, cluster) in members(&status["virtual_clusters"]) {
        let behind = cluster["clusters"].as_array().into_iter().flatten().map(word).collect::<Vec<_>>().join(", ");
        let _ = writeln!(text, "virtual cluster {name}: {}, over {behind}", connections(&cluster["connections"]));
        for (name, listener) in members(&cluster["listeners"]) {
            let bound = listener["bound"].as_array().map_or(&[][..], Vec::as_slice);
            let first = bound.first().map(word).unwrap_or_default();
            let more = bound.len().saturating_sub(1);
            let connections = connections(&listener["connections"]);
            let _ = writeln!(text, "  listener {name}: {first} and {more} more ports, {connections}");
        }
    }
    for (name, cluster) in members(&status["clusters"]) {
        let _ = writeln!(text, "cluster {name}: id {}", word(&cluster["cluster_id"]));
        if let Some(failure) = cluster["failure"].as_str() {
            let _ = writeln!(text, "  the last question failed: {failure}");
        }
        for (node, state) in members(&cluster["nodes"]) {
            let at = state["address"].as_str().map_or(String::new(), |address| format!(" at {address}"));
            let _ = writeln!(text, "  node {node}{at}: {}", health(state));
        }
    }
    text
}

fn health(node: &Value) -> String {
    match node["up"].as_bool() {
        Some(true) => format!("up, {:.1} ms", node["round_trip_seconds"].as_f64().unwrap_or_default() * 1000.0),
        Some(false) => format!("down: {}", word(&node["error"])),
        None if node["address"].is_null() => "where it is is not known".to_owned(),
        None => "not asked yet".to_owned(),
    }
}

fn connections(count: &Value) -> String {
    match count.as_u64() {
        Some(1) => "1 connection".to_owned(),
        _ => format!("{} connections", word(count)),
    }
}

fn members(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().into_iter().flatten()
}

/// A text without its quotes, or what else it is.
fn word(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => "unknown".to_owned(),
        other @ (Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_)) => other.to_string(),
    }
}
