//! Each mechanism, good and bad, and steps in an order that none has.

use anyhow::{Result, bail, ensure};
use kafka_protocol::messages::{MetadataRequest, SaslAuthenticateRequest, SaslHandshakeRequest};
use kafka_protocol::protocol::StrBytes;
use skein_login::Hash;
use skein_tests::apis::{FETCH, METADATA, PRODUCE};
use skein_tests::issuer::Claims;
use skein_tests::raw::request::{self, Introduction};
use skein_tests::raw::{Raw, Request};

use super::door::{
    self, ALICE, BOB, Door, FAILED, INVALID, choose, handshake, heard, is_closed, is_served, log_in, plain, say, scram,
    words,
};
use crate::stage::{SOON, empty};

#[test]
fn each_mechanism_lets_in_who_is_right_and_refuses_who_is_not() -> Result<()> {
    let door = Door::new("", "")?;
    let token = door.issuer.mint(&Claims::of("alice"))?;
    let good = [
        plain(ALICE.0, ALICE.1),
        scram(Hash::Sha256, ALICE.0, ALICE.1),
        scram(Hash::Sha512, ALICE.0, ALICE.1),
        door::bearer(&token),
    ];
    for credential in &good {
        let mut raw = door.stranger()?;
        let told = log_in(&mut raw, credential)?;
        assert_eq!((told.error_code, told.session_lifetime_ms > 0), (0, credential == &good[3]), "{credential:?}");
        is_served(&mut raw)?;
    }
    let other = door.issuer.mint(&Claims::of("alice").for_audience("others"))?;
    for credential in [
        plain(ALICE.0, BOB.1),
        scram(Hash::Sha256, ALICE.0, BOB.1),
        scram(Hash::Sha512, ALICE.0, BOB.1),
        door::bearer(&other),
        plain("nobody", ALICE.1),
        scram(Hash::Sha256, "nobody", ALICE.1),
    ] {
        let mut raw = door.stranger()?;
        let told = log_in(&mut raw, &credential)?;
        assert_eq!(told.error_code, FAILED, "{credential:?}");
        let is_token = credential.mechanism().name() == "OAUTHBEARER";
        assert!(is_token || heard(&told).1 == INVALID, "{told:?}");
        is_closed(&mut raw)?;
    }
    for reason in ["reason=\"wrong_password\"", "reason=\"unknown_user\"", "reason=\"token_audience\""] {
        door.logs(reason)?;
    }
    door.serves_others()
}

#[test]
fn a_mechanism_that_is_not_offered_is_refused_with_those_that_are() -> Result<()> {
    let door = Door::new("", "")?;
    for name in ["GSSAPI", "plain", "", "SCRAM-SHA-1", "PLAIN\0", "\u{1b}[2JPLAIN", &"P".repeat(30_000)] {
        let mut raw = door.stranger()?;
        let answer = handshake(&mut raw, name)?;
        let offered: Vec<_> = answer.mechanisms.iter().map(|name| name.to_string()).collect();
        assert_eq!(answer.error_code, 33, "{name}");
        assert_eq!(offered, ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER"]);
        is_closed(&mut raw)?;
    }
    door.logs("the mechanism GSSAPI is not offered")?;
    let log = door.stage.skein.log();
    ensure!(!log.contains('\u{1b}') && !log.contains(&"P".repeat(100)), "a stranger writes what it likes into the log");
    door.serves_others()
}

#[test]
fn nothing_but_versions_and_a_login_is_taken_from_a_stranger() -> Result<()> {
    let door = Door::new("", "")?;
    for key in [PRODUCE, FETCH, METADATA, 8, 10, 19, 22, 32, 60] {
        for begins in [false, true] {
            let mut raw = door.stranger()?;
            raw.ask(&request::api_versions(3, &Introduction::default()))?;
            if begins {
                choose(&mut raw, "PLAIN")?;
            }
            raw.send(&Request::new(key, 3, empty()))?;
            is_closed(&mut raw)?;
        }
    }
    door.logs("reason=\"before_login\"")?;
    // What nobody knows is no request of a stranger either.
    let mut raw = door.stranger()?;
    raw.send(&Request::new(10_000, 0, empty()))?;
    is_closed(&mut raw)?;
    door.serves_others()
}

#[test]
fn steps_out_of_turn_are_refused() -> Result<()> {
    let door = Door::new("", "")?;
    let mut raw = door.stranger()?;
    assert_eq!(say(&mut raw, words("", ALICE.0, ALICE.1))?.error_code, 34, "without a handshake");
    is_closed(&mut raw)?;
    let mut raw = door.stranger()?;
    choose(&mut raw, "PLAIN")?;
    assert_eq!(handshake(&mut raw, "PLAIN")?.error_code, 34, "two handshakes");
    is_closed(&mut raw)?;
    let mut raw = door.alice()?;
    assert_eq!(say(&mut raw, words("", ALICE.0, ALICE.1))?.error_code, 34, "a token behind a login");
    is_served(&mut raw)?;
    door.logs("reason=\"login_out_of_turn\"")?;
    // In the middle of a second login nothing else is taken.
    let mut raw = door.alice()?;
    choose(&mut raw, "SCRAM-SHA-256")?;
    is_told_of_its_login(&mut raw)?;
    door.serves_others()
}

/// In the middle of a login a request has the answer that a broker gives, and the connection ends.
fn is_told_of_its_login(raw: &mut Raw) -> Result<()> {
    raw.send(&Request::of(12, &request::metadata(12, Some(&["t"])))?.id(7))?;
    let (answers, _) = raw.until_closed(SOON)?;
    let [answer] = &answers[..] else { bail!("{answers:?}") };
    let told = answer.decode::<MetadataRequest>(12)?;
    assert_eq!((told.brokers.len(), told.topics.len(), told.topics[0].error_code), (0, 1, 34));
    Ok(())
}

#[test]
fn who_takes_no_notice_of_a_token_that_is_refused_is_told_and_closed() -> Result<()> {
    let door = Door::new("", "")?;
    let other = door.issuer.mint(&Claims::of("alice").for_audience("others"))?;
    let mut raw = door.stranger()?;
    choose(&mut raw, "OAUTHBEARER")?;
    let told = say(&mut raw, format!("n,,\u{1}auth=Bearer {other}\u{1}\u{1}"))?;
    ensure!(told.error_code == 0 && !told.auth_bytes.is_empty(), "{told:?}");
    is_told_of_its_login(&mut raw)?;
    door.serves_others()
}

#[test]
fn a_login_is_repeated_once_in_a_second_at_most() -> Result<()> {
    let door = Door::new("", "")?;
    let mut raw = door.alice()?;
    assert_eq!(log_in(&mut raw, &plain(ALICE.0, ALICE.1))?.error_code, 0);
    assert_eq!(handshake(&mut raw, "PLAIN")?.error_code, 34, "as by a broker");
    is_served(&mut raw)
}

#[test]
fn the_old_handshake_is_refused_clearly_and_no_token_is_read_as_a_frame() -> Result<()> {
    let door = Door::new("", "")?;
    let mut raw = door.stranger()?;
    let old = SaslHandshakeRequest::default().with_mechanism(StrBytes::from_static_str("PLAIN"));
    let token = words("", ALICE.0, ALICE.1);
    let length = u32::try_from(token.len())?.to_be_bytes();
    let mut bytes = Request::of(0, &old)?.frame().to_vec();
    bytes.extend_from_slice(&length);
    bytes.extend_from_slice(&token);
    raw.send_bytes(&bytes)?;
    let answer = raw.receive(SOON)?;
    assert_eq!(answer.rest[..2], 35_i16.to_be_bytes());
    is_closed(&mut raw)?;
    door.logs("reason=\"old_handshake\"")?;
    door.serves_others()
}

#[test]
fn all_of_a_login_and_requests_behind_it_may_come_at_once() -> Result<()> {
    let door = Door::new("", "")?;
    let mut raw = door.stranger()?;
    let chosen = SaslHandshakeRequest::default().with_mechanism(StrBytes::from_static_str("PLAIN"));
    let token = |password: &str| SaslAuthenticateRequest::default().with_auth_bytes(words("", ALICE.0, password));
    let all = |password: &str| -> Result<Vec<Request>> {
        Ok(vec![
            request::api_versions(3, &Introduction::default()).id(1),
            Request::of(1, &chosen)?.id(2),
            Request::of(2, &token(password))?.id(3),
            Request::of(12, &request::metadata(12, Some(&["t"])))?.id(4),
            Request::of(12, &request::metadata(12, Some(&["t"])))?.id(5),
        ])
    };
    raw.send_all(&all(ALICE.1)?)?;
    let ids: Vec<_> = raw.receive_all(5, SOON)?.iter().map(|answer| answer.correlation_id).collect();
    assert_eq!(ids, [1, 2, 3, 4, 5]);
    // What stands behind a login that fails is not done.
    let asked = door.stage.fake.requests_of(METADATA).len();
    let mut raw = door.stranger()?;
    raw.send_all(&all(BOB.1)?)?;
    let (answers, _) = raw.until_closed(SOON)?;
    assert_eq!(answers.iter().map(|answer| answer.correlation_id).collect::<Vec<_>>(), [1, 2, 3]);
    assert_eq!(answers[2].rest[1..3], FAILED.to_be_bytes());
    door.serves_others()?;
    assert_eq!(door.stage.fake.requests_of(METADATA).len(), asked + 1);
    Ok(())
}

#[test]
fn a_second_login_is_of_the_same_principal_or_the_end() -> Result<()> {
    let door = Door::new("", "")?;
    for credential in [scram(Hash::Sha512, ALICE.0, ALICE.1), door::bearer(&door.issuer.mint(&Claims::of("alice"))?)] {
        let mut raw = door.alice()?;
        assert_eq!(log_in(&mut raw, &credential)?.error_code, 0);
        is_served(&mut raw)?;
    }
    let mut raw = door.alice()?;
    assert_eq!(log_in(&mut raw, &plain(BOB.0, BOB.1))?.error_code, FAILED);
    is_closed(&mut raw)?;
    let mut raw = door.alice()?;
    assert_eq!(log_in(&mut raw, &plain(ALICE.0, BOB.1))?.error_code, FAILED);
    is_closed(&mut raw)
}

#[test]
fn messages_that_are_none_are_refused() -> Result<()> {
    let door = Door::new("", "")?;
    let long = format!("\0alice\0{}", "x".repeat(2000));
    let wide = "\0".repeat(60_000);
    for (message, wanted) in [
        ("", "not a valid message"),
        ("\0", "not a valid message"),
        ("alice\0wire-secret-of-alice", "not a valid message"),
        ("\0alice\0wire-secret-of-alice\0", "not a valid message"),
        ("\0\0wire-secret-of-alice", "not a valid message"),
        ("\0alice\0", "not a valid message"),
        ("bob\0alice\0wire-secret-of-alice", "the user's own"),
        (&long, "not a valid message"),
        (&wide, "not a valid message"),
        // Names that look like hers and are not.
        ("\0Alice\0wire-secret-of-alice", "invalid username"),
        ("\0\u{430}lice\0wire-secret-of-alice", "invalid username"),
        ("\0alice\0wire-secret-of-alice ", "invalid username"),
    ] {
        let told = door.hears("PLAIN", message.to_owned())?;
        let (code, said) = heard(&told);
        assert!(code == FAILED && said.contains(wanted), "{message:?}: {told:?}");
    }
    let told = door.hears("PLAIN", vec![0xff, 0, 0xff, 0, 0xff])?;
    assert_eq!(told.error_code, FAILED);
    // A frame that is cut in its message, and one whose message claims more than there is.
    for body in [&[0_u8, 0, 0, 9][..], &[0x7f, 0xff, 0xff, 0xff, 1], &[0xff, 0xff, 0xff, 0xff]] {
        let mut raw = door.stranger()?;
        choose(&mut raw, "PLAIN")?;
        raw.send(&Request::new(36, 1, body.to_vec()))?;
        is_closed(&mut raw)?;
    }
    door.serves_others()
}
