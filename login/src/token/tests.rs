use std::sync::OnceLock;

use aws_lc_rs::encoding::AsDer;
use aws_lc_rs::rsa::{KeyPair, KeySize};
use aws_lc_rs::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair as _};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::{EncodingKey, Header};
use serde_json::json;

use super::*;

/// Seconds since 1970 at which all of this happens.
const NOW: u64 = 1_700_000_000;

fn now() -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(NOW)
}

/// Where the key as the library wants it begins in the PKCS #8 form of an RSA key of 2048 bits.
const PKCS1_AT: usize = 26;

/// Keys to sign with, and the set of their public parts.
struct Signers {
    rsa: EncodingKey,
    ec: EncodingKey,
    ed: EncodingKey,
    rsa_modulus: Vec<u8>,
    set: Value,
}

/// Made once: an RSA key takes its time.
fn signers() -> &'static Signers {
    static SIGNERS: OnceLock<Signers> = OnceLock::new();
    SIGNERS.get_or_init(|| {
        let url = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes);
        let rsa = KeyPair::generate(KeySize::Rsa2048).unwrap();
        let random = aws_lc_rs::rand::SystemRandom::new();
        let ec = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random).unwrap();
        let ec_public = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, ec.as_ref()).unwrap();
        let ed = Ed25519KeyPair::generate_pkcs8(&random).unwrap();
        let ed_public = Ed25519KeyPair::from_pkcs8(ed.as_ref()).unwrap();
        let modulus = rsa.public_key().modulus().big_endian_without_leading_zero().to_vec();
        let exponent = rsa.public_key().exponent().big_endian_without_leading_zero();
        let point = ec_public.public_key().as_ref();
        let set = json!({ "keys": [
            { "kty": "RSA", "kid": "rsa", "use": "sig", "n": url(&modulus), "e": url(exponent) },
            { "kty": "EC", "kid": "ec", "crv": "P-256", "alg": "ES256", "x": url(&point[1..33]), "y": url(&point[33..]) },
            { "kty": "OKP", "kid": "ed", "crv": "Ed25519", "x": url(ed_public.public_key().as_ref()) },
            { "kty": "oct", "kid": "shared", "k": "c2VjcmV0" },
            { "kty": "RSA", "kid": "encrypts", "use": "enc", "n": url(&modulus), "e": url(exponent) },
            { "kty": "NEW", "kid": "unheard-of" },
            { "kty": "EC", "kid": "short", "crv": "P-521", "x": "AA", "y": "AA" },
        ]});
        let pkcs8 = AsDer::<aws_lc_rs::encoding::Pkcs8V1Der<'_>>::as_der(&rsa).unwrap();
        Signers {
            rsa: EncodingKey::from_rsa_der(&pkcs8.as_ref()[PKCS1_AT..]),
            ec: EncodingKey::from_ec_der(ec.as_ref()),
            ed: EncodingKey::from_ed_der(ed.as_ref()),
            rsa_modulus: modulus,
            set,
        }
    })
}

fn keys() -> Keys {
    Keys::parse(signers().set.to_string().as_bytes()).unwrap()
}

fn rules() -> TokenRules {
    TokenRules {
        issuers: vec!["https://id.example.com".to_owned()],
        audiences: vec!["kafka".to_owned()],
        scopes: vec!["produce".to_owned()],
        ..TokenRules::default()
    }
}

fn claims() -> Value {
    json!({
        "iss": "https://id.example.com", "aud": ["other", "kafka"], "sub": "alice", "scope": "consume produce",
        "iat": NOW - 10, "nbf": NOW - 10, "exp": NOW + 300,
    })
}

fn header(algorithm: Algorithm, key: &str) -> Header {
    Header { kid: Some(key.to_owned()), ..Header::new(algorithm) }
}

fn signed(claims: &Value) -> String {
    jsonwebtoken::encode(&header(Algorithm::ES256, "ec"), claims, &signers().ec).unwrap()
}

fn judged(claims: &Value) -> Result<Verified, TokenFault> {
    rules().judge(&signed(claims), &keys(), now())
}

/// The claims with one of them otherwise; `null`: without it.
fn with(claim: &str, value: Value) -> Value {
    let mut claims = claims();
    if value.is_null() {
        claims.as_object_mut().unwrap().remove(claim);
    } else {
        claims[claim] = value;
    }
    claims
}

#[test]
fn a_set_keeps_the_keys_that_it_can_use() {
    assert_eq!(keys().len(), 3);
    for (set, wanted) in [
        ("", "no JSON"),
        ("[]", "without a list"),
        ("{\"keys\":[]}", "without a key"),
        ("{\"keys\":[{\"kty\":\"oct\",\"k\":\"c2VjcmV0\"}]}", "without a key"),
        ("{\"keys\":[3,null,{}]}", "without a key"),
    ] {
        assert!(Keys::parse(set.as_bytes()).unwrap_err().contains(wanted), "{set}");
    }
    assert!(Keys::parse(&vec![b' '; (1 << 20) + 1]).unwrap_err().contains("1 MiB"));
    let many = format!("{{\"keys\":[{}0]}}", "0,".repeat(1000));
    assert!(Keys::parse(many.as_bytes()).unwrap_err().contains("1000"));
}

#[test]
fn a_token_by_any_kind_of_key_is_taken() {
    let Signers { rsa, ec, ed, .. } = signers();
    for (algorithm, id, key) in [
        (Algorithm::RS256, "rsa", rsa),
        (Algorithm::RS384, "rsa", rsa),
        (Algorithm::PS512, "rsa", rsa),
        (Algorithm::ES256, "ec", ec),
        (Algorithm::EdDSA, "ed", ed),
    ] {
        let token = jsonwebtoken::encode(&header(algorithm, id), &claims(), key).unwrap();
        let verified = rules().judge(&token, &keys(), now()).unwrap();
        assert_eq!(verified, Verified { principal: Arc::from("alice"), expires: now() + Duration::from_secs(300) });
        // Without an id there is one key only that fits.
        let nameless = jsonwebtoken::encode(&Header::new(algorithm), &claims(), key).unwrap();
        assert!(rules().judge(&nameless, &keys(), now()).is_ok(), "{algorithm:?}");
    }
}

#[test]
fn times_are_judged_with_the_difference_of_clocks() {
    for (claim, value, fault) in [
        ("exp", json!(NOW - 29), None),
        ("exp", json!(NOW - 30), Some(TokenFault::Expired)),
        ("exp", json!(0), Some(TokenFault::Expired)),
        ("exp", json!(1_700_000_000.5), None),
        ("exp", json!(null), Some(TokenFault::NoExpiry)),
        ("exp", json!("1800000000"), Some(TokenFault::NoExpiry)),
        ("exp", json!(-5), Some(TokenFault::NoExpiry)),
        ("exp", json!(u64::MAX), Some(TokenFault::NoExpiry)),
        ("exp", json!(1e300), Some(TokenFault::NoExpiry)),
        ("nbf", json!(NOW + 30), None),
        ("nbf", json!(NOW + 31), Some(TokenFault::NotYet)),
        ("nbf", json!("soon"), Some(TokenFault::NotYet)),
        ("nbf", json!(null), None),
        ("iat", json!(NOW + 31), Some(TokenFault::NotYet)),
        ("iat", json!(null), None),
    ] {
        assert_eq!(judged(&with(claim, value.clone())).err(), fault, "{claim} {value}");
    }
    let late = judged(&with("exp", json!(NOW - 5))).unwrap();
    assert_eq!(late.expires, now() + Duration::from_secs(1), "a session ends after it begins");
}

#[test]
fn issuer_audience_scope_and_principal_are_judged() {
    for (claim, value, fault) in [
        ("iss", json!("https://other.example.com"), Some(TokenFault::Issuer)),
        ("iss", json!(["https://id.example.com"]), Some(TokenFault::Issuer)),
        ("iss", json!(null), Some(TokenFault::Issuer)),
        ("aud", json!("kafka"), None),
        ("aud", json!("kafka2"), Some(TokenFault::Audience)),
        ("aud", json!([]), Some(TokenFault::Audience)),
        ("aud", json!({ "kafka": 1 }), Some(TokenFault::Audience)),
        ("aud", json!(null), Some(TokenFault::Audience)),
        ("scope", json!("produce"), None),
        ("scope", json!(["consume", "produce"]), None),
        ("scope", json!("producer"), Some(TokenFault::Scope)),
        ("scope", json!(null), Some(TokenFault::Scope)),
        ("sub", json!(""), Some(TokenFault::NoPrincipal)),
        ("sub", json!(null), Some(TokenFault::NoPrincipal)),
        ("sub", json!(3), Some(TokenFault::NoPrincipal)),
        ("sub", json!("a\nb"), Some(TokenFault::NoPrincipal)),
        ("sub", json!("a".repeat(256)), Some(TokenFault::NoPrincipal)),
    ] {
        assert_eq!(judged(&with(claim, value.clone())).err(), fault, "{claim} {value}");
    }
    let by_client = TokenRules { principal_claim: "client_id".to_owned(), ..TokenRules::default() };
    let verified = by_client.judge(&signed(&with("client_id", json!("robot"))), &keys(), now()).unwrap();
    assert_eq!(&*verified.principal, "robot");
}

/// A token with this head and these claims, signed with what is given.
fn forged(head: &Value, sign: impl Fn(&[u8]) -> Vec<u8>) -> String {
    let url = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes);
    let message = format!("{}.{}", url(head.to_string().as_bytes()), url(claims().to_string().as_bytes()));
    let signature = url(&sign(message.as_bytes()));
    format!("{message}.{signature}")
}

#[test]
fn what_a_token_says_of_its_signature_is_not_believed() {
    let Signers { ec, rsa_modulus, .. } = signers();
    let hmac = |key: Vec<u8>| move |message: &[u8]| crate::hash::Hash::Sha256.hmac(&key, message).to_vec();
    let unsigned = |_: &[u8]| Vec::new();
    let public = signers().set["keys"][0]["n"].as_str().unwrap().as_bytes().to_vec();
    for (token, fault) in [
        (forged(&json!({ "alg": "none", "kid": "rsa" }), unsigned), TokenFault::Algorithm),
        (forged(&json!({ "alg": "NONE" }), unsigned), TokenFault::Algorithm),
        (forged(&json!({ "kid": "rsa" }), unsigned), TokenFault::Algorithm),
        (forged(&json!({ "alg": "HS256", "kid": "rsa" }), hmac(rsa_modulus.clone())), TokenFault::Algorithm),
        (forged(&json!({ "alg": "HS256", "kid": "rsa" }), hmac(public)), TokenFault::Algorithm),
        (forged(&json!({ "alg": "HS256", "kid": "shared" }), hmac(b"secret".to_vec())), TokenFault::Algorithm),
        (forged(&json!({ "alg": "RS256", "kid": "rsa" }), unsigned), TokenFault::Signature),
        (forged(&json!({ "alg": "RS256", "kid": "rsa" }), hmac(rsa_modulus.clone())), TokenFault::Signature),
        (forged(&json!({ "alg": "ES256", "kid": "ec" }), |_| vec![0; 64]), TokenFault::Signature),
        (forged(&json!({ "alg": "EdDSA", "kid": "ed" }), |_| vec![0; 64]), TokenFault::Signature),
        (forged(&json!({ "alg": "RS256", "kid": "ec" }), unsigned), TokenFault::AnotherKey),
        (forged(&json!({ "alg": "ES384", "kid": "ec" }), unsigned), TokenFault::AnotherKey),
        (forged(&json!({ "alg": "RS256", "kid": "encrypts" }), unsigned), TokenFault::UnknownKey),
        (forged(&json!({ "alg": "RS256", "kid": "nobody" }), unsigned), TokenFault::UnknownKey),
        (
            forged(&json!({ "alg": "ES256", "kid": "ec", "crit": ["b64"], "b64": false }), unsigned),
            TokenFault::Critical,
        ),
        (forged(&json!({ "alg": "ES256", "kid": "ec", "zip": "DEF" }), unsigned), TokenFault::Critical),
    ] {
        assert_eq!(rules().judge(&token, &keys(), now()), Err(fault), "{token}");
    }
    // A key that the token brings along, and another signer under the name of a known key.
    let another = jsonwebtoken::encode(&header(Algorithm::ES256, "rsa"), &claims(), ec).unwrap();
    assert_eq!(rules().judge(&another, &keys(), now()), Err(TokenFault::AnotherKey));
    assert_eq!(rules().judge(&signed(&claims()), &Keys::default(), now()), Err(TokenFault::UnknownKey));
}

#[test]
fn a_changed_token_is_none() {
    let token = signed(&claims());
    let parts: Vec<_> = token.split('.').collect();
    let other = signed(&with("sub", json!("mallory")));
    let mixed = format!("{}.{}.{}", parts[0], other.split('.').nth(1).unwrap(), parts[2]);
    assert_eq!(rules().judge(&mixed, &keys(), now()), Err(TokenFault::Signature));
    for wrong in ["", "a", "a.b", "a.b.c", "..", "...", &format!("{token}."), &format!(".{token}"), &token[1..]] {
        assert!(rules().judge(wrong, &keys(), now()).is_err(), "{wrong}");
    }
    assert_eq!(rules().judge(&"a".repeat(MOST_TOKEN + 1), &keys(), now()), Err(TokenFault::NoToken));
}

#[test]
fn without_an_id_two_keys_that_fit_are_one_too_many() {
    let mut set = signers().set.clone();
    let mut second = set["keys"][1].clone();
    second["kid"] = json!("ec2");
    set["keys"].as_array_mut().unwrap().push(second.clone());
    let keys = Keys::parse(set.to_string().as_bytes()).unwrap();
    let nameless = jsonwebtoken::encode(&Header::new(Algorithm::ES256), &claims(), &signers().ec).unwrap();
    assert_eq!(rules().judge(&nameless, &keys, now()), Err(TokenFault::AnotherKey));
    assert!(rules().judge(&signed(&claims()), &keys, now()).is_ok());
}

#[test]
fn the_end_of_a_token_is_read_without_a_key() {
    assert_eq!(end_of(&signed(&claims())), Some(now() + Duration::from_secs(300)));
    assert_eq!(end_of(&signed(&with("exp", json!(null)))), None);
    for opaque in ["", "opaque", "a.b.c", &"a.".repeat(MOST_TOKEN)] {
        assert_eq!(end_of(opaque), None);
    }
}
