//! Messages that no client sends: replayed, mixed up, changed, too long.

use std::sync::Arc;

use bytes::Bytes;
use proptest::prelude::*;
use skein_login::{
    Attempt, Credential, Hash, Judge, Keys, MOST_MESSAGE, Mechanism, Next, Step, TokenRules, Tokens, UserFile, Users,
};

use crate::stage::{Signer, bearer, judge, log_in, now, outcome, plain, scram, signer};

fn credentials() -> [Credential; 4] {
    [
        plain("alice", "word"),
        scram(Hash::Sha256, "alice", "word"),
        scram(Hash::Sha512, "alice", "word"),
        bearer(signer().token("alice", 60)),
    ]
}

/// The messages of a client that logs in.
fn said(judge: &Arc<Judge>, credential: &Credential) -> Vec<Bytes> {
    let mut said = Vec::new();
    let step = log_in(judge, credential, |message| {
        said.push(message.clone());
        message
    });
    assert!(matches!(step, Step::Done(..)));
    said
}

#[test]
fn a_proof_holds_in_its_own_exchange_only() {
    let judge = Arc::new(judge(&[("alice", "word")]));
    let said = said(&judge, &scram(Hash::Sha256, "alice", "word"));
    let exchange = judge.begin(Mechanism::ScramSha256).unwrap();
    let Step::Challenge(_, exchange) = exchange.step(now(), &said[0]) else { panic!("it is answered") };
    assert_eq!(outcome(exchange.step(now(), &said[1])).map_err(|(word, _)| word), Err("nonce"));
}

#[test]
fn a_message_of_one_mechanism_is_none_of_another() {
    let judge = Arc::new(judge(&[("alice", "word")]));
    for credential in credentials() {
        let first = said(&judge, &credential).remove(0);
        for mechanism in Mechanism::ALL {
            let is_scram = |one: Mechanism| matches!(one, Mechanism::ScramSha256 | Mechanism::ScramSha512);
            if mechanism == credential.mechanism() || is_scram(mechanism) && is_scram(credential.mechanism()) {
                continue;
            }
            let step = judge.begin(mechanism).unwrap().step(now(), &first);
            let Step::Failed(failure) = step else { panic!("{mechanism} takes that of {credential:?}") };
            assert_eq!(failure.why.word(), "malformed", "{mechanism}, {credential:?}");
        }
    }
    // The first message of SCRAM says nothing of its hash; the proof does.
    let exchange = judge.begin(Mechanism::ScramSha256).unwrap();
    let (first, attempt) = Attempt::begin(&scram(Hash::Sha512, "alice", "word")).unwrap();
    let Step::Challenge(challenge, exchange) = exchange.step(now(), &first) else { panic!("it is answered") };
    let Next::Send(proof, _) = attempt.step(&challenge) else { panic!("it goes on") };
    assert_eq!(outcome(exchange.step(now(), &proof)).map_err(|(word, _)| word), Err("malformed"));
}

#[test]
fn what_is_too_long_is_not_looked_at() {
    let judge = Arc::new(judge(&[]));
    let long = vec![b'a'; MOST_MESSAGE + 1];
    let many = [b"n,,n=".to_vec(), vec![b'a'; MOST_MESSAGE - 10]].concat();
    let zeros = vec![0; MOST_MESSAGE];
    let pairs = [b"n,,".to_vec(), b"\x01a=".repeat(MOST_MESSAGE / 3 - 2), b"\x01\x01".to_vec()].concat();
    for message in [long, many, zeros, pairs] {
        for mechanism in Mechanism::ALL {
            let step = judge.begin(mechanism).unwrap().step(now(), &message);
            assert_eq!(outcome(step).map_err(|(word, _)| word), Err("malformed"), "{mechanism}");
        }
    }
}

#[test]
fn a_password_is_bounded_before_it_is_salted() {
    let judge = Arc::new(judge(&[("alice", "word")]));
    let step = |message: String| judge.begin(Mechanism::Plain).unwrap().step(now(), message.as_bytes());
    for message in [
        format!("\0alice\0{}", "a".repeat(1025)),
        format!("\0{}\0word", "a".repeat(256)),
        format!("{}\0alice\0word", "a".repeat(256)),
        "\0alice\0".to_owned(),
        "\0\0word".to_owned(),
        "alice\0word".to_owned(),
        "\0alice\0word\0".to_owned(),
    ] {
        assert_eq!(outcome(step(message.clone())).map_err(|(word, _)| word), Err("malformed"), "{message:?}");
    }
}

/// A message with one of its bytes otherwise, or cut there.
fn changed(message: &Bytes, place: usize, to: Option<u8>) -> Bytes {
    let mut bytes = message.to_vec();
    let place = place % bytes.len();
    match to {
        Some(to) => bytes[place] = to,
        None => bytes.truncate(place),
    }
    Bytes::from(bytes)
}

/// Logs in with one message changed on its way, and says whether that let the client in.
fn is_let_in(judge: &Arc<Judge>, credential: &Credential, which: usize, with: impl Fn(&Bytes) -> Bytes) -> bool {
    let mut exchange = judge.begin(credential.mechanism()).unwrap();
    let (mut message, mut attempt) = Attempt::begin(credential).unwrap();
    for place in 0..3 {
        let sent = if place == which { with(&message) } else { message };
        match exchange.step(now(), &sent) {
            Step::Challenge(challenge, next) => match attempt.step(&challenge) {
                Next::Send(answer, after) => (exchange, message, attempt) = (next, answer, after),
                Next::Done | Next::Failed(_) => return false,
            },
            Step::Done(..) => return true,
            Step::Failed(_) | Step::WantsKeys(_) => return false,
        }
    }
    false
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn no_changed_message_lets_anybody_in(mechanism in 0..3_usize, which in 0..2_usize, place: usize, to: Option<u8>) {
        let judge = Arc::new(judge(&[("alice", "word")]));
        let is_changed = std::cell::Cell::new(false);
        let let_in = is_let_in(&judge, &credentials()[mechanism], which, |message| {
            let sent = changed(message, place, to);
            is_changed.set(sent != *message);
            sent
        });
        prop_assert!(!let_in || !is_changed.get());
    }

    #[test]
    fn no_changed_token_lets_anybody_in(place: usize, to in "[a-zA-Z0-9._-]") {
        let judge = Arc::new(judge(&[]));
        let token = signer().token("alice", 60);
        let place = place % token.expose().len();
        prop_assume!(token.expose()[place..=place] != to);
        let mut changed = token.expose().to_owned();
        changed.replace_range(place..=place, &to);
        let with = bearer(skein_settings::Secret::new(changed));
        prop_assert!(!is_let_in(&judge, &with, 3, Bytes::clone));
    }

    #[test]
    fn any_bytes_are_answered(mechanism in 0..4_usize, first: Vec<u8>, second: Vec<u8>) {
        let judge = Arc::new(judge(&[]));
        let step = judge.begin(Mechanism::ALL[mechanism]).unwrap().step(now(), &first);
        if let Step::Challenge(_, exchange) = step {
            prop_assert!(matches!(exchange.step(now(), &second), Step::Failed(_)));
        }
        let (_, attempt) = Attempt::begin(&credentials()[mechanism]).unwrap();
        if let Next::Send(_, attempt) = attempt.step(&first) {
            prop_assert!(matches!(attempt.step(&second), Next::Failed(_)));
        }
    }

    #[test]
    fn any_changed_set_of_keys_is_one_or_a_fault(place: usize, to: Option<u8>, cut: bool) {
        let set = Bytes::from(signer().set());
        let set = changed(&set, place, to);
        let set = if cut { set.slice(..place % (set.len() + 1)) } else { set };
        if let Ok(keys) = Keys::parse(&set) {
            // Whatever it says, no key of it makes a token good that was not signed with it.
            let token = Signer::new("first").token("alice", 60);
            let judge = Judge { tokens: Some(Tokens { rules: TokenRules::default(), keys: Arc::new(keys) }), ..judge(&[]) };
            let step = log_in(&Arc::new(judge), &bearer(token), |message| message);
            prop_assert!(matches!(step, Step::Failed(_) | Step::WantsKeys(_)), "{step:?}");
        }
    }

    #[test]
    fn any_changed_file_of_users_is_one_or_a_fault_that_repeats_nothing_of_a_credential(place: usize, to: Option<u8>) {
        let mut file = UserFile::parse(b"").unwrap();
        file.add("alice", "word", 4096).unwrap();
        let text = changed(&Bytes::from(file.to_string()), place, to);
        let secrets: Vec<String> = file.to_string().split(['"', '$', ':']).map(str::to_owned).collect();
        if let Err(wrong) = Users::parse(&text) {
            let said = format!("{wrong} {wrong:?}");
            for secret in secrets.iter().filter(|part| part.len() >= 32) {
                prop_assert!(!said.contains(&secret[8..24]), "{said}");
            }
        }
    }

    #[test]
    fn any_text_is_a_file_of_users_or_a_fault(text in "(\\[users\\]\n)?[a-z\"{}=\\[\\]\n #.$:0-9-]{0,80}") {
        let _ = skein_login::Users::parse(text.as_bytes());
        if let Ok(mut file) = skein_login::UserFile::parse(text.as_bytes()) {
            prop_assert!(file.add("somebody", "word", 4096).is_ok());
            prop_assert!(skein_login::Users::parse(file.to_string().as_bytes()).is_ok(), "{file}");
        }
    }

    #[test]
    fn any_text_is_a_rule_or_a_fault(rule in "(RULE:)?[a-z()*+?$/\\\\\\[\\]LU0-9]{0,40}", subject in "\\PC{0,40}") {
        use skein_login::{Certificate, Mapping, Source};
        let certificate = Certificate { subject, ..Certificate::default() };
        let _ = Mapping::new(Source::Subject, &[rule]).map(|mapping| mapping.principal(&certificate));
    }
}
