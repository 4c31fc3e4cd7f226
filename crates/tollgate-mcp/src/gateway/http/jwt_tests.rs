use ring::signature::{Ed25519KeyPair, KeyPair as _};
use serde_json::json;

use super::*;

const NOW: u64 = 1_800_000_000;

fn pair() -> Ed25519KeyPair {
    Ed25519KeyPair::from_seed_unchecked(&[7; 32]).unwrap()
}

fn issuer() -> Issuer {
    let x = URL_SAFE_NO_PAD.encode(pair().public_key().as_ref());
    let jwks =
        json!({"keys": [{"kty": "OKP", "crv": "Ed25519", "kid": "one", "x": x}, {"kty": "oct", "k": "AA"}]});
    Issuer::new("https://login.example.com", "https://tools.example.com/mcp", &jwks.to_string()).unwrap()
}

fn token(header: &Value, claims: &Value) -> String {
    let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let signed = format!("{}.{}", part(header), part(claims));
    let signature = URL_SAFE_NO_PAD.encode(pair().sign(signed.as_bytes()));
    format!("{signed}.{signature}")
}

fn claims() -> Value {
    json!({"iss": "https://login.example.com", "aud": ["x", "https://tools.example.com/mcp"], "sub": "alice",
           "exp": NOW + 300, "role": "reading"})
}

#[test]
fn a_signed_token_for_this_server_names_its_caller() {
    let header = json!({"alg": "EdDSA", "kid": "one"});
    let good = token(&header, &claims());
    assert_eq!(issuer().verify(&good, NOW), Ok(Identity::new("alice", None)));
    let on_route = issuer().with_route_claim("role");
    assert_eq!(on_route.verify(&good, NOW), Ok(Identity::new("alice", Some("reading"))));
    let without = issuer().with_route_claim("other");
    assert_eq!(without.verify(&good, NOW), Ok(Identity::new("alice", Some("none"))));
}

#[test]
fn any_claim_that_is_not_right_turns_the_token_away() {
    let header = json!({"alg": "EdDSA"});
    let cases = [
        ("iss", json!("https://evil.example.com")),
        ("iss", json!("https://login.example.com/")),
        ("aud", json!("https://other.example.com")),
        ("aud", Value::Null),
        ("exp", json!(NOW - 61)),
        ("exp", Value::Null),
        ("exp", json!("9999999999")),
        ("nbf", json!(NOW + 61)),
        ("nbf", json!("soon")),
        ("sub", json!("")),
        ("sub", json!(5)),
    ];
    for (claim, value) in cases {
        let mut claims = claims();
        claims[claim] = value.clone();
        assert!(issuer().verify(&token(&header, &claims), NOW).is_err(), "{claim}: {value}");
    }
    assert!(issuer().verify(&token(&header, &claims()), NOW + 359).is_ok());
}

#[test]
fn a_token_that_names_another_algorithm_or_key_or_was_changed_is_not_believed() {
    for header in [
        json!({"alg": "none"}),
        json!({"alg": "HS256"}),
        json!({"alg": "RS256"}),
        json!({"alg": "EdDSA", "kid": "two"}),
        json!({"alg": "EdDSA", "crit": ["x"]}),
    ] {
        assert!(issuer().verify(&token(&header, &claims()), NOW).is_err(), "{header}");
    }
    let good = token(&json!({"alg": "EdDSA"}), &claims());
    let (signed, signature) = good.rsplit_once('.').unwrap();
    for bad in [
        format!("{signed}."),
        format!("{signed}.AAAA"),
        format!("{signed}x.{signature}"),
        signed.to_owned(),
        String::new(),
        "..".into(),
    ] {
        assert!(issuer().verify(&bad, NOW).is_err(), "{bad}");
    }
}

#[test]
fn a_set_without_a_usable_key_is_an_error() {
    assert!(matches!(Issuer::new("i", "a", "{}"), Err(BadKeys::Json(_))));
    assert!(matches!(Issuer::new("i", "a", r#"{"keys":[{"kty":"oct","k":"AA"}]}"#), Err(BadKeys::None)));
}
