//! SCRAM, as nobody should speak it.

use anyhow::{Context, Result, ensure};
use skein_login::{Attempt, Hash, Next};
use skein_tests::raw::Raw;

use super::door::{self, ALICE, BOB, Door, FAILED, INVALID, choose, heard, is_closed, is_served, say, scram, words};

const NONE: &str = "not a valid message";

/// An exchange that has come to its proof: the connection, what the server said, and the proof.
fn proven(door: &Door, (user, password): (&str, &str)) -> Result<(Raw, String, Vec<u8>)> {
    let mut raw = door.stranger()?;
    choose(&mut raw, "SCRAM-SHA-256")?;
    let (first, attempt) = Attempt::begin(&scram(Hash::Sha256, user, password))?;
    let challenge = String::from_utf8(say(&mut raw, first)?.auth_bytes.to_vec())?;
    let Next::Send(proof, _) = attempt.step(challenge.as_bytes()) else { anyhow::bail!("no proof: {challenge}") };
    Ok((raw, challenge, proof.to_vec()))
}

/// Sees that a message is refused where a proof has to come.
fn refused(mut raw: Raw, proof: &[u8], wanted: &str) -> Result<()> {
    let told = say(&mut raw, proof.to_vec())?;
    let (code, said) = heard(&told);
    ensure!(code == FAILED && said.contains(wanted), "{:?}: {told:?}", String::from_utf8_lossy(proof));
    is_closed(&mut raw)
}

#[test]
fn a_proof_is_good_for_one_exchange_of_one_connection() -> Result<()> {
    let door = Door::new("", "")?;
    let (mut first, _, proof) = proven(&door, ALICE)?;
    let (second, ..) = proven(&door, ALICE)?;
    // That of another connection, before and after it was used there.
    refused(second, &proof, NONE)?;
    assert_eq!(say(&mut first, proof.clone())?.error_code, 0);
    is_served(&mut first)?;
    let (third, ..) = proven(&door, ALICE)?;
    refused(third, &proof, NONE)?;
    // Again on the same connection, where a second login has its own challenge.
    choose(&mut first, "SCRAM-SHA-256")?;
    assert_eq!(say(&mut first, "n,,n=alice,r=abc")?.error_code, 0);
    refused(first, &proof, NONE)?;
    // The proof of one in the exchange of another, with its nonce.
    let (of_alice, challenge, _) = proven(&door, ALICE)?;
    let (_other, _, of_bob) = proven(&door, BOB)?;
    let nonce = challenge.split(',').next().context("no nonce")?.to_owned();
    let of_bob = String::from_utf8(of_bob)?;
    let (_, proof) = of_bob.rsplit_once(",p=").context("no proof")?;
    refused(of_alice, format!("c=biws,{nonce},p={proof}").as_bytes(), INVALID)?;
    door.logs("reason=\"nonce\"")?;
    door.serves_others()
}

#[test]
fn a_proof_that_is_changed_anywhere_is_none() -> Result<()> {
    let door = Door::new("", "")?;
    for (from, to, wanted) in [
        ("c=biws", "c=eSws", NONE),
        ("c=biws", "c=", NONE),
        ("c=biws", "c=cD10bHMtdW5pcXVlLCw=", NONE),
        (",r=", ",r=x", NONE),
        (",p=", ",i=1,p=", INVALID),
        (",p=", ",s=QUJD,i=4096,p=", INVALID),
        (",p=", ",m=x,p=", INVALID),
        (",p=", ",p=AAAA", NONE),
        (",p=", ",p=\0", NONE),
        (",p=", ",q=", NONE),
    ] {
        let (raw, _, proof) = proven(&door, ALICE)?;
        let changed = String::from_utf8(proof)?.replacen(from, to, 1);
        refused(raw, changed.as_bytes(), wanted)?;
    }
    let (raw, challenge, _) = proven(&door, ALICE)?;
    let nonce = challenge.split(',').next().context("no nonce")?;
    // A proof of zero bytes, and none at all.
    refused(raw, format!("c=biws,{nonce},p={}=", "A".repeat(43)).as_bytes(), INVALID)?;
    let (raw, ..) = proven(&door, ALICE)?;
    refused(raw, b"", NONE)?;
    let (raw, challenge, _) = proven(&door, ALICE)?;
    refused(raw, challenge.as_bytes(), NONE)?;
    let (raw, ..) = proven(&door, ALICE)?;
    refused(raw, &vec![b','; 60_000], NONE)?;
    door.serves_others()
}

#[test]
fn a_first_message_that_asks_for_more_than_a_login_is_refused() -> Result<()> {
    let door = Door::new("", "")?;
    let long = format!("n,,n={},r=abc", "a".repeat(256));
    let nonce = format!("n,,n=alice,r={}", "x".repeat(60_000));
    for (first, wanted) in [
        ("p=tls-unique,,n=alice,r=abc", "channel binding is not supported"),
        ("p=tls-exporter,,n=alice,r=abc", "channel binding is not supported"),
        ("n,,m=x,n=alice,r=abc", NONE),
        ("n,a=bob,n=alice,r=abc", "the user's own"),
        ("n,a=bob=,n=alice,r=abc", NONE),
        ("n,,n=alice,r=abc,tokenauth=true", "delegation tokens are not supported"),
        ("n,,n=,r=abc", NONE),
        ("n,,n=al=ice,r=abc", NONE),
        ("n,,n=al\0ice,r=abc", NONE),
        ("n,,n=al\u{7}ice,r=abc", NONE),
        ("n,,n=alice,r=", NONE),
        ("n,,n=alice,r=a\0b", NONE),
        ("n,,r=abc,n=alice", NONE),
        ("x,,n=alice,r=abc", NONE),
        ("", NONE),
        (&long, NONE),
        // Another mechanism's message.
        ("\0alice\0wire-secret-of-alice", NONE),
        ("n,,\u{1}auth=Bearer a.b.c\u{1}\u{1}", NONE),
    ] {
        let told = door.hears("SCRAM-SHA-256", first.to_owned())?;
        let (code, said) = heard(&told);
        ensure!(code == FAILED && said.contains(wanted), "{first:?}: {told:?}");
    }
    // A long nonce is refused, or costs as much as it has bytes.
    let told = door.hears("SCRAM-SHA-256", nonce)?;
    ensure!(told.error_code == FAILED, "{} bytes are answered", told.auth_bytes.len());
    door.serves_others()
}

#[test]
fn names_with_letters_that_scram_writes_otherwise_are_themselves() -> Result<()> {
    let door = Door::new("", "")?;
    let odd = "o,d=d =2C";
    door.users.set(&[ALICE, BOB, (odd, "wire-secret-of-odd")])?;
    door.logs("changed file taken over")?;
    let mut raw = door.stranger()?;
    assert_eq!(door::log_in(&mut raw, &scram(Hash::Sha512, odd, "wire-secret-of-odd"))?.error_code, 0);
    is_served(&mut raw)?;
    // As it is by PLAIN, and not as SCRAM writes it.
    assert_eq!(door.hears("PLAIN", words("", odd, "wire-secret-of-odd"))?.error_code, 0);
    assert_eq!(door.hears("PLAIN", words("", "o=2Cd=3Dd =3D2C", "wire-secret-of-odd"))?.error_code, FAILED);
    Ok(())
}

#[test]
fn one_mechanism_does_not_take_what_another_says() -> Result<()> {
    let door = Door::new("", "")?;
    for mechanism in ["PLAIN", "OAUTHBEARER"] {
        let told = door.hears(mechanism, "n,,n=alice,r=abc")?;
        assert_eq!(told.error_code, FAILED, "{mechanism}");
    }
    // The proof of the one hash in the exchange of the other.
    let mut raw = door.stranger()?;
    choose(&mut raw, "SCRAM-SHA-512")?;
    let (first, attempt) = Attempt::begin(&scram(Hash::Sha256, ALICE.0, ALICE.1))?;
    let challenge = say(&mut raw, first)?;
    let Next::Send(proof, _) = attempt.step(&challenge.auth_bytes) else { anyhow::bail!("no proof") };
    refused(raw, &proof, NONE)?;
    door.serves_others()
}
