//! RS256 for external sign-in: generates a project's key pair, verifies tokens with its public keys, and
//! signs test tokens with a private key from the request.

use aws_lc_rs::encoding::{AsDer, Pkcs8V1Der, PublicKeyX509Der};
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::rsa::KeySize;
use aws_lc_rs::signature::{KeyPair as _, RSA_PKCS1_2048_8192_SHA256, RSA_PKCS1_SHA256};
use aws_lc_rs::signature::{RsaKeyPair, UnparsedPublicKey};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD as BASE64};
use serde_json::{Value, json};

/// 4096 bits: beyond that a single signature takes a noticeable part of a second.
const MAX_MODULUS_BYTES: usize = 512;
/// More than the base64 of a PEM of a 4096-bit private key; longer texts are not even parsed.
const MAX_PRIVATE_KEY_TEXT: usize = 6 * 1024;

/// A new pair: the public key as it is stored, the private one as it is shown.
#[derive(Debug, Clone)]
pub struct KeyPair {
    /// Base64 of the PEM text.
    pub public: String,
    /// The PEM text.
    pub private: String,
}

pub fn generate() -> Option<KeyPair> {
    let pair = RsaKeyPair::generate(KeySize::Rsa2048).ok()?;
    let private: Pkcs8V1Der<'_> = pair.as_der().ok()?;
    let public: PublicKeyX509Der<'_> = pair.public_key().as_der().ok()?;
    Some(KeyPair {
        public: STANDARD.encode(pem("PUBLIC KEY", public.as_ref())),
        private: pem("PRIVATE KEY", private.as_ref()),
    })
}

/// Signs the claims with a private key, given as its PEM or as base64 of that; `None` if it is no
/// usable key.
pub fn sign(private_key: &str, claims: &Value) -> Option<String> {
    sign_as(private_key, None, claims)
}

/// The same by a key that has an id.
pub fn sign_as(private_key: &str, key_id: Option<&str>, claims: &Value) -> Option<String> {
    if private_key.len() > MAX_PRIVATE_KEY_TEXT {
        return None;
    }
    let der = match private_key.trim() {
        pem if pem.starts_with("-----BEGIN ") => from_pem(pem)?,
        encoded => from_base64_of_pem(encoded)?,
    };
    let pair = RsaKeyPair::from_pkcs8(&der).or_else(|_| RsaKeyPair::from_der(&der)).ok()?;
    if pair.public_modulus_len() > MAX_MODULUS_BYTES {
        return None;
    }
    let header = match key_id {
        Some(id) => json!({ "alg": "RS256", "kid": id, "typ": "JWT" }),
        None => json!({ "alg": "RS256", "typ": "JWT" }),
    };
    let part = |value: &Value| BASE64.encode(value.to_string());
    let signed = format!("{}.{}", part(&header), part(claims));
    let mut signature = vec![0; pair.public_modulus_len()];
    pair.sign(&RSA_PKCS1_SHA256, &SystemRandom::new(), signed.as_bytes(), &mut signature).ok()?;
    Some(format!("{signed}.{}", BASE64.encode(signature)))
}

/// The claims of a token signed with RS256 by one of the keys (base64 of their PEM). The caller checks time
/// and issuer.
pub fn verify<'k>(token: &str, public_keys: impl Iterator<Item = &'k str>) -> Option<Value> {
    let (signed, signature) = token.rsplit_once('.')?;
    let (header, payload) = signed.split_once('.')?;
    let header: Value = serde_json::from_slice(&BASE64.decode(header).ok()?).ok()?;
    if header["alg"] != "RS256" {
        return None;
    }
    let signature = BASE64.decode(signature).ok()?;
    let holds = public_keys.filter_map(from_base64_of_pem).any(|der| {
        let key = UnparsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA256, der);
        key.verify(signed.as_bytes(), &signature).is_ok()
    });
    if !holds {
        return None;
    }
    serde_json::from_slice(&BASE64.decode(payload).ok()?).ok()
}

fn from_base64_of_pem(key: &str) -> Option<Vec<u8>> {
    from_pem(&String::from_utf8(STANDARD.decode(key).ok()?).ok()?)
}

pub(super) fn pem(label: &str, der: &[u8]) -> String {
    let encoded = STANDARD.encode(der);
    let mut text = format!("-----BEGIN {label}-----\n");
    for line in encoded.as_bytes().chunks(64) {
        text.extend(line.iter().map(|byte| char::from(*byte)));
        text.push('\n');
    }
    text + &format!("-----END {label}-----\n")
}

pub(super) fn from_pem(text: &str) -> Option<Vec<u8>> {
    let mut lines = text.lines().map(str::trim).skip_while(|line| !line.starts_with("-----BEGIN "));
    lines.next()?;
    let encoded: String = lines.take_while(|line| !line.starts_with("-----END ")).collect();
    STANDARD.decode(encoded).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_holds_under_the_key_that_signed_it() {
        let (pair, other) = (generate().unwrap(), generate().unwrap());
        let token = sign(&pair.private, &json!({ "sub": "7" })).unwrap();
        let keys = [other.public.as_str(), pair.public.as_str()];
        assert_eq!(verify(&token, keys.into_iter()).unwrap()["sub"], "7");
        let encoded = STANDARD.encode(&pair.private);
        assert_eq!(sign(&encoded, &json!({ "sub": "7" })), Some(token.clone()));
        assert!(verify(&token, [other.public.as_str()].into_iter()).is_none());
        assert!(verify(&token, std::iter::empty()).is_none());
    }

    #[test]
    fn a_token_of_another_algorithm_does_not_hold() {
        let pair = generate().unwrap();
        let payload = BASE64.encode(r#"{"sub":"7"}"#);
        let public_pem = STANDARD.decode(&pair.public).unwrap();
        let key = aws_lc_rs::hmac::Key::new(aws_lc_rs::hmac::HMAC_SHA256, &public_pem);
        for header in [r#"{"alg":"HS256"}"#, r#"{"alg":"none"}"#, r#"{"alg":"RS256"}"#] {
            let signed = format!("{}.{payload}", BASE64.encode(header));
            let tag = aws_lc_rs::hmac::sign(&key, signed.as_bytes());
            let token = format!("{signed}.{}", BASE64.encode(tag.as_ref()));
            assert!(verify(&token, [pair.public.as_str()].into_iter()).is_none());
        }
    }

    #[test]
    fn unusable_private_keys_are_refused() {
        let garbage =
            STANDARD.encode("-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----");
        let public = generate().unwrap().public;
        for key in ["", "not base64!", &garbage, &public, &"A".repeat(20_000)] {
            assert!(sign(key, &json!({})).is_none());
        }
    }
}
