//! Tokens that are none, of somebody else, or forged; and an issuer that does not answer.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::{Algorithm, EncodingKey, Header};
use kafka_protocol::messages::SaslAuthenticateRequest;
use serde_json::{Value, json};
use skein_tests::http;
use skein_tests::issuer::{Behaviour, Claims, Signature};
use skein_tests::raw::{Outcome, Request};

use super::door::{self, Door, FAILED, choose, heard, is_closed, is_served, log_in, say};
use crate::stage::SOON;

const AN_HOUR: Duration = Duration::from_secs(3600);
/// What a client hears first of a token that is not taken.
const INVALID: &[u8] = br#"{"status":"invalid_token"}"#;

fn message(token: &str) -> String {
    format!("n,,\u{1}auth=Bearer {token}\u{1}\u{1}")
}

/// Sees that a token is refused as the mechanism says, and then as Kafka does, and that the log knows why.
fn refused(door: &Door, token: &str, reason: &str) -> Result<()> {
    let mut raw = door.stranger()?;
    choose(&mut raw, "OAUTHBEARER")?;
    let told = say(&mut raw, message(token))?;
    ensure!((told.error_code, &told.auth_bytes[..]) == (0, INVALID), "{reason}: {told:?}");
    let told = say(&mut raw, "\u{1}")?;
    ensure!(heard(&told) == (FAILED, "Authentication failed: the token is not accepted"), "{reason}: {told:?}");
    is_closed(&mut raw)?;
    door.logs(&format!("reason=\"{reason}\""))
}

fn base64(text: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(text)
}

/// A token by hand.
fn forged(header: &Value, claims: &Value, signature: &[u8]) -> String {
    format!("{}.{}.{}", base64(header.to_string()), base64(claims.to_string()), base64(signature))
}

fn claims(door: &Door) -> Value {
    json!({ "iss": door.issuer.name(), "sub": "alice", "aud": "kafka", "exp": 4_000_000_000_u64 })
}

#[test]
fn a_token_without_a_signature_or_with_a_shared_secret_is_refused() -> Result<()> {
    let door = Door::new("", "")?;
    for algorithm in ["none", "None", "NONE", "", "RS257"] {
        let header = json!({ "alg": algorithm, "kid": "key-1", "typ": "JWT" });
        refused(&door, &forged(&header, &claims(&door), b""), "token_algorithm")?;
    }
    // The public key, which everybody has, as the secret of an HMAC: in each way in which it could be written.
    let set = http::ask(door.issuer.address(), "GET /keys HTTP/1.1\r\nHost: issuer\r\nConnection: close\r\n\r\n")?.body;
    let set: Value = serde_json::from_str(&set)?;
    let modulus = set["keys"][0]["n"].as_str().context("no modulus")?.to_owned();
    let bytes = URL_SAFE_NO_PAD.decode(&modulus)?;
    for secret in [set["keys"][0].to_string().as_bytes(), modulus.as_bytes(), &bytes] {
        for algorithm in [Algorithm::HS256, Algorithm::HS384, Algorithm::HS512] {
            let header = Header { kid: Some("key-1".to_owned()), ..Header::new(algorithm) };
            let token = jsonwebtoken::encode(&header, &claims(&door), &EncodingKey::from_secret(secret)?)?;
            refused(&door, &token, "token_algorithm")?;
        }
    }
    // What the token brings along itself is not looked at.
    for more in
        [json!({ "jwk": set["keys"][0] }), json!({ "jku": door.issuer.keys_url() }), json!({ "x5u": "http://a" })]
    {
        let mut header = json!({ "alg": "RS256", "kid": "key-1" });
        header.as_object_mut().context("no table")?.extend(more.as_object().context("no table")?.clone());
        refused(&door, &forged(&header, &claims(&door), &[1; 256]), "token_signature")?;
    }
    let critical = json!({ "alg": "RS256", "kid": "key-1", "crit": ["exp"] });
    refused(&door, &forged(&critical, &claims(&door), &[1; 256]), "token_critical")?;
    door.serves_others()
}

#[test]
fn a_token_with_another_signature_is_refused() -> Result<()> {
    let door = Door::new("", "")?;
    let good = door.issuer.mint(&Claims::of("alice"))?;
    let of_bob = door.issuer.mint(&Claims::of("bob"))?;
    let part = |token: &str, at: usize| token.split('.').nth(at).map(str::to_owned).context("no part");
    // The signature of one below the claims of another.
    let mixed = format!("{}.{}.{}", part(&good, 0)?, part(&of_bob, 1)?, part(&good, 2)?);
    refused(&door, &mixed, "token_signature")?;
    let cut = &good[..good.len() - 8];
    refused(&door, cut, "token_signature")?;
    // Another algorithm for the same key, and a key of another issuer under the name of one that is known.
    let other = skein_tests::issuer::TokenIssuer::start()?;
    let mine = Claims::of("alice").from_issuer(door.issuer.name());
    refused(&door, &other.mint(&mine)?, "token_signature")?;
    for algorithm in ["RS384", "RS512", "PS256"] {
        let header = json!({ "alg": algorithm, "kid": "key-1" });
        let token = format!("{}.{}.{}", base64(header.to_string()), part(&good, 1)?, part(&good, 2)?);
        let mut raw = door.stranger()?;
        ensure!(log_in(&mut raw, &door::bearer(&token))?.error_code == FAILED, "{algorithm}");
    }
    let header = json!({ "alg": "ES256", "kid": "key-1" });
    refused(&door, &forged(&header, &claims(&door), &[0; 64]), "token_another_key")?;
    assert_eq!(door.told(&door::bearer(&good))?.error_code, 0);
    Ok(())
}

#[test]
fn a_token_out_of_its_time_or_for_others_is_refused() -> Result<()> {
    let door = Door::new("", "")?;
    let alice = || Claims::of("alice");
    let soon = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH)?.as_secs() + 300;
    for (claims, reason) in [
        (alice().issued_ago(AN_HOUR), "token_expired"),
        (alice().with("nbf", json!(soon)), "token_not_yet"),
        (alice().with("iat", json!(soon)), "token_not_yet"),
        (alice().with("exp", Value::Null), "token_no_expiry"),
        (alice().with("exp", json!("4000000000")), "token_no_expiry"),
        (alice().with("exp", json!(-1)), "token_no_expiry"),
        (alice().with("exp", json!(1e300)), "token_no_expiry"),
        (alice().with("exp", json!(u64::MAX)), "token_no_expiry"),
        (alice().for_audience("others"), "token_audience"),
        (alice().with("aud", json!([])), "token_audience"),
        (alice().with("aud", json!({ "kafka": "kafka" })), "token_audience"),
        (alice().with("aud", Value::Null), "token_audience"),
        (alice().from_issuer("https://id.example.com"), "token_issuer"),
        (alice().with("iss", json!([door.issuer.name()])), "token_issuer"),
        (alice().with("iss", Value::Null), "token_issuer"),
        (alice().with("sub", Value::Null), "token_no_principal"),
        (alice().with("sub", json!("")), "token_no_principal"),
        (alice().with("sub", json!(7)), "token_no_principal"),
        (alice().with("sub", json!("al\nice")), "token_no_principal"),
        (alice().with("sub", json!("a".repeat(256))), "token_no_principal"),
    ] {
        refused(&door, &door.issuer.mint(&claims)?, reason)?;
    }
    // One that lasts for ever is taken, and the session is as long as can be told.
    let told = door.told(&door::bearer(&door.issuer.mint(&alice().with("exp", json!(253_402_300_799_u64)))?))?;
    ensure!(told.error_code == 0 && told.session_lifetime_ms > 0, "{told:?}");
    door.serves_others()
}

#[test]
fn what_is_no_token_is_refused_whatever_its_length() -> Result<()> {
    let door = Door::new("", "")?;
    let good = door.issuer.mint(&Claims::of("alice"))?;
    let nested = base64(&good);
    let nested = forged(&json!({ "alg": "RS256", "kid": "key-1", "cty": "JWT" }), &json!(nested), &[1; 256]);
    let deep = format!("{}.{}.AA", base64("{\"alg\":\"RS256\",\"kid\":\"key-1\"}"), base64("[".repeat(30_000)));
    let padded = good.replacen('.', "=.", 1);
    for (token, reason) in [
        ("a", "no_token"),
        ("..", "no_token"),
        ("a.b", "no_token"),
        (&*format!("{good}.{good}"), "no_token"),
        (&padded, "no_token"),
        (&nested, "token_signature"),
        (&deep, "token_signature"),
    ] {
        refused(&door, token, reason).with_context(|| token.chars().take(40).collect::<String>())?;
    }
    // As long as a frame of a stranger may be, longer, and in many pieces.
    let wide = message(&"A".repeat(65_400));
    let told = door.hears("OAUTHBEARER", wide)?;
    ensure!(told.error_code == FAILED || told.auth_bytes[..] == *INVALID, "{told:?}");
    let before = door.stage.skein.memory()?;
    for bytes in [65_600, 1 << 20, 32 << 20] {
        let mut raw = door.stranger()?;
        choose(&mut raw, "OAUTHBEARER")?;
        let long = SaslAuthenticateRequest::default().with_auth_bytes(message(&"A".repeat(bytes)).into());
        // It hangs up on the length, perhaps before all of it is sent.
        let _ = raw.send(&Request::of(2, &long)?);
        ensure!(!matches!(raw.outcome(SOON)?, Outcome::Answered(_)), "{bytes} bytes are answered");
    }
    let more = door.stage.skein.memory()?.saturating_sub(before);
    ensure!(more < 10 << 10, "{more} KiB more after tokens of 32 MiB");
    // In pieces there is one message only: a second one is out of turn, or the end of a token that was refused.
    let mut raw = door.stranger()?;
    choose(&mut raw, "OAUTHBEARER")?;
    assert_eq!(say(&mut raw, message(&good[..20]))?.auth_bytes[..], *INVALID);
    assert_eq!(say(&mut raw, good[20..].to_owned())?.error_code, FAILED);
    is_closed(&mut raw)?;
    for message in ["n,,", "n,,\u{1}auth=Bearer \u{1}\u{1}", "n,,\u{1}auth=Basic a\u{1}\u{1}", "\u{1}", ""] {
        assert_eq!(door.hears("OAUTHBEARER", message.to_owned())?.error_code, FAILED, "{message:?}");
    }
    let for_bob = format!("n,a=bob,\u{1}auth=Bearer {good}\u{1}\u{1}");
    assert_eq!(door.hears("OAUTHBEARER", for_bob)?.error_code, FAILED);
    door.serves_others()
}

#[test]
fn a_flood_of_unknown_keys_costs_the_issuer_one_fetch_and_nobody_else_a_thing() -> Result<()> {
    let door = Door::new("", "")?;
    let (good, fetched) = (door.issuer.mint(&Claims::of("alice"))?, door.issuer.keys().requests());
    let begun = std::time::Instant::now();
    for number in 0..40 {
        let header = json!({ "alg": "RS256", "kid": format!("key-{}", 1000 + number) });
        let mut raw = door.stranger()?;
        let told = log_in(&mut raw, &door::bearer(&forged(&header, &claims(&door), &[1; 256])))?;
        ensure!(told.error_code == FAILED, "{told:?}");
        if number % 10 == 0 {
            assert_eq!(door.told(&door::bearer(&good))?.error_code, 0);
        }
        if number == 20 {
            // From here on a try of this source would wait.
            break;
        }
    }
    let more = door.issuer.keys().requests() - fetched;
    let allowed = 1 + begun.elapsed().as_secs() / 10;
    ensure!(more <= allowed, "{more} fetches in {:?}", begun.elapsed());
    door.logs("reason=\"token_unknown_key\"")?;
    door.serves_others()
}

#[test]
fn while_the_issuer_is_ill_known_keys_hold_and_unknown_ones_are_told_to_come_again() -> Result<()> {
    let door = Door::new("", "")?;
    let old = door.issuer.mint(&Claims::of("alice"))?;
    // The first fetch is long enough ago for another one to be made.
    std::thread::sleep(Duration::from_millis(10_100));
    door.issuer.rotate(Signature::Es256)?;
    let new = door.issuer.mint(&Claims::of("alice"))?;
    let huge = format!("{{\"keys\":[{}]}}", " ".repeat(3 << 20));
    let ills = [
        Behaviour::Fails,
        Behaviour::Says("no set of keys".to_owned()),
        Behaviour::Says("{\"keys\":7}".to_owned()),
        Behaviour::Says(huge),
        Behaviour::Stalls,
    ];
    let before = door.stage.skein.memory()?;
    for ill in ills {
        let what = format!("{ill:?}").chars().take(30).collect::<String>();
        door.issuer.keys().behave(ill);
        let mut raw = door.stranger()?;
        choose(&mut raw, "OAUTHBEARER")?;
        raw.send(&Request::of(2, &SaslAuthenticateRequest::default().with_auth_bytes(message(&new).into()))?)?;
        // Others do not wait for that.
        is_served(&mut door.alice()?)?;
        assert_eq!(door.told(&door::bearer(&old))?.error_code, 0, "{what}");
        is_closed(&mut raw).with_context(|| what)?;
    }
    door.logs("the keys that would judge it could not be had")?;
    let more = door.stage.skein.memory()?.saturating_sub(before);
    ensure!(more < 20 << 10, "{more} KiB more");
    door.issuer.keys().behave(Behaviour::Answers);
    skein_tests::process::until("the new key", 6 * SOON, || {
        let mut raw = door.stranger()?;
        choose(&mut raw, "OAUTHBEARER")?;
        raw.send(&Request::of(2, &SaslAuthenticateRequest::default().with_auth_bytes(message(&new).into()))?)?;
        let Outcome::Answered(answer) = raw.outcome(2 * SOON)? else { return Ok(None) };
        // No error code: it is in.
        Ok((answer.rest[1..3] == [0, 0]).then_some(()))
    })
}
