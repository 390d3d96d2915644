use rustls::RootCertStore;

use super::*;
use crate::keys::tests::{Server, trusts};

fn grant(address: std::net::SocketAddr) -> Grant {
    Grant {
        endpoint: Endpoint::new(&format!("http://{address}/token"), trusts(RootCertStore::empty())).unwrap(),
        client_id: "skein proxy".to_owned(),
        client_secret: SecretSource::Text(Secret::new("hunter2&=ü")),
        scope: Some("kafka read".to_owned()),
        audience: None,
    }
}

#[tokio::test]
async fn a_token_is_asked_for_as_the_standard_says() {
    let server = Arc::new(Server::default());
    server.answers(200, r#"{"access_token":"a.b.c","token_type":"Bearer","expires_in":100}"#);
    let address = server.start().await;
    let token = TokenSource::start(grant(address)).token().await.unwrap();
    assert_eq!(token.text.expose(), "a.b.c");
    let left = token.ends.unwrap().duration_since(SystemTime::now()).unwrap();
    assert!((90..=100).contains(&left.as_secs()), "{left:?}");
    let authorization = format!("Basic {}", STANDARD.encode("skein+proxy:hunter2%26%3D%C3%BC"));
    let asked = server.last();
    assert_eq!(asked.authorization, Some(authorization));
    assert_eq!(asked.form, "grant_type=client_credentials&scope=kafka+read");
}

#[tokio::test]
async fn all_who_wait_share_one_question() {
    let server = Arc::new(Server::default());
    server.answers(200, r#"{"access_token":"a.b.c","expires_in":"3600"}"#);
    let source = Arc::new(TokenSource::start(grant(server.start().await)));
    let waiting = (0..100).map(|_| {
        let source = Arc::clone(&source);
        tokio::spawn(async move { source.token().await.is_ok() })
    });
    for one in waiting.collect::<Vec<_>>() {
        assert!(one.await.unwrap());
    }
    assert_eq!(server.questions(), 1);
}

#[tokio::test]
async fn there_is_a_new_token_before_the_old_one_ends() {
    let server = Arc::new(Server::default());
    server.answers(200, r#"{"access_token":"old","expires_in":3}"#);
    let source = TokenSource::start(grant(server.start().await));
    let old = source.token().await.unwrap();
    server.answers(200, r#"{"access_token":"new","expires_in":3000}"#);
    let mut watched = source.watch();
    let newer = watched.wait_for(|token| token.as_ref().is_some_and(|token| token.text.expose() == "new"));
    tokio::time::timeout(Duration::from_secs(20), newer).await.unwrap().unwrap();
    assert!(old.ends.unwrap() > SystemTime::now(), "the old one has not ended yet");
    assert_eq!(server.questions(), 2);
}

#[tokio::test]
async fn why_there_is_no_token_is_told_without_the_secret() {
    let server = Arc::new(Server::default());
    let address = server.start().await;
    for (status, body, wanted) in [
        (401, r#"{"error":"invalid_client","error_description":"hunter2&=ü"}"#, "invalid_client"),
        (500, "hunter2&=ü", "500"),
        (200, "hunter2&=ü", "without `access_token`"),
        (200, r#"{"access_token":""}"#, "without `access_token`"),
        (200, r#"{"access_token":"a","token_type":"mac"}"#, "no bearer token"),
        (400, "{\"error\":\"a\\u001b[2Jb\"}", "a2Jb"),
    ] {
        server.answers(status, body);
        let grant = grant(address);
        let shown = format!("{grant:?}");
        let source = TokenSource::start(grant);
        let why = source.token().await.unwrap_err();
        assert!(why.contains(wanted) && !why.contains("hunter") && !shown.contains("hunter"), "{why} {shown}");
    }
}
