//! What is taken, what is not, and what is shown of it.

use std::sync::Arc;
use std::time::Duration;

use proptest::prelude::*;
use skein_login::{Attempt, Credential, Hash, Judge, Mechanism, Mistrust, Next, Step, UserFile, Users};
use skein_settings::Secret;

use crate::stage::{Signer, bearer, judge, log_in, now, outcome, plain, scram, signer};

#[test]
fn whoever_has_the_credential_is_let_in_by_every_mechanism() {
    let judge = Arc::new(judge(&[("alice", "wonder,land=1"), ("a,b=c", "word")]));
    for credential in [
        plain("alice", "wonder,land=1"),
        scram(Hash::Sha256, "alice", "wonder,land=1"),
        scram(Hash::Sha512, "alice", "wonder,land=1"),
        bearer(signer().token("alice", 60)),
    ] {
        assert_eq!(outcome(log_in(&judge, &credential, |message| message)), Ok("alice".to_owned()), "{credential:?}");
    }
    for credential in [plain("a,b=c", "word"), scram(Hash::Sha256, "a,b=c", "word")] {
        assert_eq!(outcome(log_in(&judge, &credential, |message| message)), Ok("a,b=c".to_owned()), "{credential:?}");
    }
}

#[test]
fn a_wrong_password_and_an_unknown_user_sound_the_same() {
    let judge = Arc::new(judge(&[("alice", "word")]));
    for with in [
        plain,
        |user: &str, password: &str| scram(Hash::Sha256, user, password),
        |user: &str, password: &str| scram(Hash::Sha512, user, password),
    ] {
        let (wrong, told) = outcome(log_in(&judge, &with("alice", "other"), |message| message)).unwrap_err();
        let (unknown, told_too) = outcome(log_in(&judge, &with("bob", "word"), |message| message)).unwrap_err();
        assert_eq!((wrong, unknown, told), ("wrong_password", "unknown_user", told_too));
    }
}

#[test]
fn an_unknown_user_sees_a_challenge_like_any_and_always_the_same() {
    let judge = Arc::new(judge(&[("alice", "word"), ("bob", "word")]));
    let challenge = |name: &str| {
        let exchange = judge.begin(Mechanism::ScramSha256).unwrap();
        let step = exchange.step(now(), format!("n,,n={name},r=abc").as_bytes());
        let Step::Challenge(challenge, exchange) = step else { panic!("{step:?}") };
        assert!(exchange.given_up().is_none());
        let challenge = String::from_utf8(challenge.to_vec()).unwrap();
        let (nonce, rest) = challenge.split_once(",s=").unwrap();
        (nonce.to_owned(), rest.to_owned())
    };
    let (alice, nobody, again) = (challenge("alice"), challenge("nobody"), challenge("nobody"));
    assert_ne!(nobody.0, again.0, "nonces are new");
    assert_eq!(nobody.1, again.1, "salts stay");
    assert_eq!((nobody.0.len(), nobody.1.len()), (alice.0.len(), alice.1.len()));
    assert!(nobody.1.ends_with(",i=4096") && nobody.1 != alice.1 && nobody.1 != challenge("nobody2").1);
}

#[test]
fn what_is_not_offered_cannot_be_chosen() {
    let all = judge(&[("alice", "word")]);
    let scram_only = Arc::new(Judge { mechanisms: vec![Mechanism::ScramSha256], ..all.clone() });
    assert!(scram_only.begin(Mechanism::ScramSha256).is_some());
    assert!(scram_only.begin(Mechanism::Plain).is_none() && scram_only.begin(Mechanism::ScramSha512).is_none());
    let without_keys = Arc::new(Judge { tokens: None, ..all });
    assert!(without_keys.begin(Mechanism::OAuthBearer).is_none());
}

#[test]
fn where_somebody_else_judges_passwords_they_are_shown_and_not_judged() {
    let elsewhere = Arc::new(Judge { users: None, ..judge(&[]) });
    assert!(elsewhere.begin(Mechanism::ScramSha256).is_none() && elsewhere.begin(Mechanism::ScramSha512).is_none());
    assert!(!elsewhere.begin(Mechanism::Plain).unwrap().is_costly());
    let step = log_in(&elsewhere, &plain("alice", "whatever"), |message| message);
    let Step::Done(_, logged_in) = step else { panic!("{step:?}") };
    assert_eq!((&*logged_in.principal, logged_in.passable), ("alice", Some(plain("alice", "whatever"))));
}

#[test]
fn only_what_is_costly_says_so() {
    let judge = Arc::new(judge(&[]));
    let costly = |mechanism| judge.begin(mechanism).unwrap().is_costly();
    assert_eq!(Mechanism::ALL.map(costly), [true, false, false, false]);
    let costly = |credential| Attempt::begin(&credential).unwrap().1.is_costly();
    assert!(costly(scram(Hash::Sha512, "a", "b")) && !costly(plain("a", "b")));
}

#[test]
fn a_session_ends_with_the_first_of_its_limits() {
    let limited = |seconds: Option<u64>, credential: &Credential| {
        let judge = Judge { lifetime: seconds.map(Duration::from_secs), ..judge(&[("alice", "word")]) };
        let step = log_in(&Arc::new(judge), credential, |message| message);
        let Step::Done(_, logged_in) = step else { panic!("{step:?}") };
        logged_in.expires.map(|ends| ends.duration_since(now()).unwrap().as_secs())
    };
    let token = bearer(signer().token("alice", 60));
    assert_eq!(limited(None, &plain("alice", "word")), None, "without an end");
    assert_eq!(limited(Some(10), &plain("alice", "word")), Some(10));
    assert_eq!(limited(None, &token), Some(60));
    assert_eq!(limited(Some(10), &token), Some(10));
    assert_eq!(limited(Some(100), &token), Some(60));
    assert_eq!(limited(None, &bearer(signer().token("alice", 0))), Some(1), "clocks may differ");
}

#[test]
fn what_was_shown_can_be_shown_to_a_cluster() {
    let judge = Arc::new(judge(&[("alice", "word")]));
    let passable = |credential: &Credential| match log_in(&judge, credential, |message| message) {
        Step::Done(_, logged_in) => logged_in.passable,
        other @ (Step::Challenge(..) | Step::Failed(_) | Step::WantsKeys(_)) => panic!("{other:?}"),
    };
    for credential in [plain("alice", "word"), bearer(signer().token("alice", 60))] {
        assert_eq!(passable(&credential), Some(credential));
    }
    assert_eq!(passable(&scram(Hash::Sha256, "alice", "word")), None);
}

#[test]
fn a_token_that_is_not_taken_is_told_by_the_mechanism_and_then_by_kafka() {
    let judge = Arc::new(judge(&[]));
    let mut said = Vec::new();
    let failed = log_in(&judge, &bearer(Signer::new("first").token("alice", 60)), |message| {
        said.push(message.clone());
        message
    });
    assert_eq!(outcome(failed).map_err(|(word, _)| word), Err("token_signature"));
    assert_eq!((said.len(), &said[1][..]), (2, &b"\x01"[..]));
    let (first, attempt) = Attempt::begin(&bearer(signer().token("alice", 60))).unwrap();
    assert!(first.starts_with(b"n,,\x01auth=Bearer ") && first.ends_with(b"\x01tenant=blue\x01\x01"));
    let Next::Send(answer, attempt) = attempt.step(b"{\"status\":\"invalid_token\"}") else { panic!("it goes on") };
    assert_eq!(&answer[..], b"\x01");
    let next = attempt.step(b"");
    assert!(matches!(&next, Next::Failed(Mistrust::Refused(status)) if status == "invalid_token"), "{next:?}");
}

#[test]
fn an_unknown_key_is_asked_for_once() {
    let (judge, newer) = (Arc::new(judge(&[])), Signer::new("second"));
    let credential = bearer(newer.token("alice", 60));
    let waiting = || match log_in(&judge, &credential, |message| message) {
        Step::WantsKeys(waiting) => waiting,
        other @ (Step::Challenge(..) | Step::Failed(_) | Step::Done(..)) => panic!("{other:?}"),
    };
    assert_eq!(outcome(waiting().resume(now(), &newer.keys())), Ok("alice".to_owned()));
    let Step::Challenge(told, exchange) = waiting().resume(now(), &signer().keys()) else { panic!("it is told") };
    assert_eq!(&told[..], br#"{"status":"invalid_token"}"#);
    // It can be told now: there are clients that say nothing more.
    assert_eq!(
        exchange.given_up().map(|why| why.to_string()),
        Some("the token is signed with a key that is not in the set".to_owned())
    );
    assert_eq!(outcome(exchange.step(now(), b"\x01")).map_err(|(word, _)| word), Err("token_unknown_key"));
}

#[test]
fn nobody_may_be_somebody_else() {
    let judge = Arc::new(judge(&[("alice", "word"), ("bob", "word")]));
    let first = |mechanism, message: &[u8]| judge.begin(mechanism).unwrap().step(now(), message);
    let token = signer().token("alice", 60);
    let with_token = |authzid: &str| format!("n,a={authzid},\x01auth=Bearer {}\x01\x01", token.expose());
    assert_eq!(outcome(first(Mechanism::Plain, b"alice\0alice\0word")), Ok("alice".to_owned()));
    assert_eq!(outcome(first(Mechanism::OAuthBearer, with_token("alice").as_bytes())), Ok("alice".to_owned()));
    for step in [
        first(Mechanism::Plain, b"bob\0alice\0word"),
        first(Mechanism::ScramSha256, b"n,a=bob,n=alice,r=abc"),
        first(Mechanism::OAuthBearer, with_token("bob").as_bytes()),
    ] {
        assert_eq!(outcome(step).map_err(|(word, _)| word), Err("other_identity"));
    }
}

#[test]
fn nothing_that_is_shown_has_a_secret_in_it() {
    let token = signer().token("alice", 60);
    let judge = Arc::new(judge(&[("alice", "hunter2")]));
    let mut file = UserFile::parse(b"").unwrap();
    file.add("alice", "hunter2", 4096).unwrap();
    let written = file.to_string();
    let kept = written.split("$4096:").nth(1).unwrap().split('"').next().unwrap().to_owned();
    let users = Users::parse(written.as_bytes()).unwrap();
    let wrong = Users::parse(written.replace("$4096", "$1").as_bytes()).unwrap_err();
    let mut shown = format!("{judge:?} {file:?} {users:?} {wrong:?} {wrong} {:?}", file.list());
    for credential in [plain("alice", "hunter2"), scram(Hash::Sha256, "alice", "hunter2"), bearer(token.clone())] {
        let (message, attempt) = Attempt::begin(&credential).unwrap();
        let exchange = judge.begin(credential.mechanism()).unwrap();
        shown += &format!("{credential:?} {attempt:?} {exchange:?}");
        shown += &format!("{:?}", attempt.step(b"not what is expected"));
        match exchange.step(now(), &message) {
            Step::Challenge(_, exchange) => {
                shown += &format!("{exchange:?}");
                shown += &format!("{:?}", exchange.step(now(), b"hunter2"));
            }
            Step::Done(_, logged_in) => shown += &format!("{logged_in:?}"),
            other @ (Step::Failed(_) | Step::WantsKeys(_)) => panic!("{other:?}"),
        }
    }
    let newer = bearer(Signer::new("second").token("alice", 60));
    shown += &format!("{:?}", log_in(&judge, &newer, |message| message));
    for secret in ["hunter2", token.expose(), token.expose().split('.').nth(1).unwrap(), &kept, "blue"] {
        assert!(!shown.contains(secret), "{secret} is in {shown}");
    }
    assert!(shown.contains("alice"));
}

/// Names and passwords that have one form.
fn one_form() -> impl Strategy<Value = String> {
    "[a-zA-Z0-9 ,=!äöüßжñ$%&/()]{1,24}".prop_filter("it has one form", |text| {
        skein_login::password(text).is_ok() && skein_login::name(text).as_deref() == Ok(text)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn names_and_passwords_pass_whatever_letters_they_have(name in one_form(), word in one_form(), other in one_form()) {
        prop_assume!(word != other);
        let judge = Arc::new(judge(&[(&name, &word)]));
        for with in [
            |user: &str, password: &str| plain(user, password),
            |user: &str, password: &str| scram(Hash::Sha256, user, password),
            |user: &str, password: &str| scram(Hash::Sha512, user, password),
        ] {
            prop_assert_eq!(outcome(log_in(&judge, &with(&name, &word), |message| message)), Ok(name.clone()));
            let wrong = outcome(log_in(&judge, &with(&name, &other), |message| message));
            prop_assert_eq!(wrong.map_err(|(word, _)| word), Err("wrong_password"));
        }
    }
}

#[test]
fn what_cannot_be_sent_is_told_before_it_is() {
    for credential in [
        plain("", "word"),
        plain("a\0b", "word"),
        plain("a", ""),
        plain("a", "b\0"),
        scram(Hash::Sha256, "", "word"),
        scram(Hash::Sha256, "a", ""),
        Credential::Bearer { token: Secret::new("a\x01auth=Bearer b"), extensions: Vec::new() },
        Credential::Bearer { token: Secret::new(""), extensions: Vec::new() },
    ] {
        assert!(matches!(Attempt::begin(&credential), Err(Mistrust::Unsendable(_))), "{credential:?}");
    }
}
