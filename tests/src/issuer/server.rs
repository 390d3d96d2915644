//! The HTTP side of an issuer.

use std::{collections::BTreeMap, convert::Infallible, future, sync::Arc};

use anyhow::{Context, Result};
use base64::{Engine, prelude::BASE64_STANDARD};
use http_body_util::{BodyExt, Full};
use hyper::{
    Method, Request, Response, StatusCode, body::Bytes, body::Incoming, header, server::conn::http1,
    service::service_fn,
};
use hyper_util::rt::TokioIo;

use super::{Behaviour, State};

type Answer = Response<Full<Bytes>>;

/// Serves until the runtime ends.
pub(super) async fn serve(listener: std::net::TcpListener, state: Arc<State>) -> Result<()> {
    let listener = tokio::net::TcpListener::from_std(listener)?;
    loop {
        let (stream, _) = listener.accept().await?;
        let state = state.clone();
        let service = service_fn(move |request| {
            let state = state.clone();
            async move { Ok::<_, Infallible>(answer(request, &state).await) }
        });
        // A client that goes away is no concern of ours.
        tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
    }
}

async fn answer(request: Request<Incoming>, state: &State) -> Answer {
    let (endpoint, is_keys) = match (request.method(), request.uri().path()) {
        (&Method::GET, "/keys") => (&state.at_keys, true),
        (&Method::POST, "/token") => (&state.at_tokens, false),
        _ => return plain(StatusCode::NOT_FOUND, "{}".to_owned()),
    };
    match endpoint.asked() {
        Behaviour::Answers => {}
        Behaviour::Fails => return plain(StatusCode::INTERNAL_SERVER_ERROR, "{}".to_owned()),
        Behaviour::Stalls => future::pending().await,
        Behaviour::Says(body) => return plain(StatusCode::OK, body),
    }
    let answered = if is_keys { state.jwks().map(|body| (StatusCode::OK, body)) } else { token(request, state).await };
    let (status, body) = answered.unwrap_or_else(|error| (StatusCode::INTERNAL_SERVER_ERROR, format!("{error:#}")));
    plain(status, body)
}

fn plain(status: StatusCode, body: String) -> Answer {
    let mut answer = Response::new(Full::new(Bytes::from(body)));
    *answer.status_mut() = status;
    answer.headers_mut().insert(header::CONTENT_TYPE, header::HeaderValue::from_static("application/json"));
    answer
}

/// RFC 6749, 4.4: the client shows its secret in the header or in the form.
async fn token(request: Request<Incoming>, state: &State) -> Result<(StatusCode, String)> {
    let from_header = request.headers().get(header::AUTHORIZATION).map(basic).transpose()?;
    let body = request.into_body().collect().await?.to_bytes();
    let form: BTreeMap<String, String> = form_urlencoded::parse(&body).into_owned().collect();
    let field = |name: &str| form.get(name).cloned().unwrap_or_default();
    let error = |status, what: &str| Ok((status, format!("{{\"error\":\"{what}\"}}")));
    if field("grant_type") != "client_credentials" {
        return error(StatusCode::BAD_REQUEST, "unsupported_grant_type");
    }
    let (id, secret) = from_header.unwrap_or_else(|| (field("client_id"), field("client_secret")));
    match state.grant(&id, &secret)? {
        Some(body) => Ok((StatusCode::OK, body)),
        None => error(StatusCode::UNAUTHORIZED, "invalid_client"),
    }
}

/// Id and secret of a header such as `Basic …`.
fn basic(value: &header::HeaderValue) -> Result<(String, String)> {
    let text = value.to_str()?.strip_prefix("Basic ").context("no Basic authorization")?;
    let text = String::from_utf8(BASE64_STANDARD.decode(text)?)?;
    let (id, secret) = text.split_once(':').context("no colon")?;
    Ok((decoded(id), decoded(secret)))
}

/// Without the escapes of a form.
fn decoded(text: &str) -> String {
    form_urlencoded::parse(format!("text={text}").as_bytes()).map(|(_, text)| text.into_owned()).collect()
}
