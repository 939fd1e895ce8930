//! Tokens of outside issuers: their signature under the issuer's published keys (JSON Web Keys). The header of a token chooses among the algorithms below and among keys made
//! for that algorithm, never a secret: neither `none` nor an HMAC under a public key ever verifies.

use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_FIXED, ED25519, RSA_PKCS1_2048_8192_SHA256, RSA_PSS_2048_8192_SHA256,
    RsaParameters, RsaPublicKeyComponents, UnparsedPublicKey, VerificationAlgorithm,
};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use serde::Deserialize;
use serde_json::Value;

use crate::values::json;

const MAX_TOKEN: usize = 16 * 1024;
/// More keys than this would make each token without a key id costly.
const MAX_KEYS: usize = 32;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
enum Algorithm {
    RS256,
    PS256,
    ES256,
    EdDSA,
}

/// A key of an issuer. Keys of other kinds have `Other` and verify nothing.
#[derive(Debug, Clone, Deserialize)]
struct Jwk {
    kid: Option<String>,
    alg: Option<String>,
    #[serde(rename = "use")]
    purpose: Option<String>,
    #[serde(flatten)]
    key: Key,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(tag = "kty")]
enum Key {
    #[serde(rename = "RSA")]
    Rsa { n: String, e: String },
    #[serde(rename = "EC")]
    Ec { crv: String, x: String, y: String },
    #[serde(rename = "OKP")]
    Okp { crv: String, x: String },
    #[serde(other)]
    Other,
}

/// The published keys of an issuer.
#[derive(Debug, Clone)]
pub struct KeySet(Vec<Jwk>);

impl KeySet {
    /// Keys that cannot be read are left out, so that a new kind of key does not lock everybody out.
    pub fn parse(document: &Value) -> Option<Self> {
        let keys = document["keys"].as_array()?.iter().take(MAX_KEYS);
        Some(KeySet(keys.filter_map(|key| Jwk::deserialize(key).ok()).collect()))
    }
}

/// A token that nobody has verified yet.
#[derive(Debug)]
pub struct Jwt<'a> {
    algorithm: Algorithm,
    key_id: Option<String>,
    signed: &'a str,
    signature: Vec<u8>,
    claims: Value,
}

#[derive(Deserialize)]
struct Header {
    alg: Algorithm,
    kid: Option<String>,
    /// Extensions that must be understood; none is.
    crit: Option<Value>,
}

impl<'a> Jwt<'a> {
    pub fn parse(token: &'a str) -> Option<Self> {
        if token.len() > MAX_TOKEN {
            return None;
        }
        let (signed, signature) = token.rsplit_once('.')?;
        let (header, payload) = signed.split_once('.')?;
        let header: Header = read(header)?;
        if header.crit.is_some() {
            return None;
        }
        Some(Jwt {
            algorithm: header.alg,
            key_id: header.kid,
            signed,
            signature: BASE64.decode(signature).ok()?,
            claims: read(payload).filter(Value::is_object)?,
        })
    }

    /// What the token says of its issuer, to find the keys that must have signed it.
    pub fn unverified_issuer(&self) -> Option<&str> {
        self.claims["iss"].as_str()
    }

    /// Whether the set has a key that may have signed it. If not, the issuer may have published a new one.
    pub fn has_key_in(&self, keys: &KeySet) -> bool {
        keys.0.iter().any(|key| self.may_be_by(key))
    }

    /// The claims, if a key of the set has signed them.
    pub fn verified(self, keys: &KeySet) -> Option<Value> {
        let holds = |key: &&Jwk| self.may_be_by(key) && self.is_signed_by(&key.key) == Some(true);
        keys.0.iter().find(holds).map(|_| self.claims.clone())
    }

    fn may_be_by(&self, key: &Jwk) -> bool {
        let fits = match (self.algorithm, &key.key) {
            (Algorithm::RS256 | Algorithm::PS256, Key::Rsa { .. }) => true,
            (Algorithm::ES256, Key::Ec { crv, .. }) => crv == "P-256",
            (Algorithm::EdDSA, Key::Okp { crv, .. }) => crv == "Ed25519",
            _ => false,
        };
        let name = format!("{:?}", self.algorithm);
        fits && key.purpose.as_deref().is_none_or(|purpose| purpose == "sig")
            && key.alg.as_ref().is_none_or(|alg| *alg == name)
            && self.key_id.as_ref().is_none_or(|id| key.kid.as_ref() == Some(id))
    }

    fn is_signed_by(&self, key: &Key) -> Option<bool> {
        let bytes = |text: &String| BASE64.decode(text).ok();
        Some(match key {
            Key::Rsa { n, e } => {
                let rule: &RsaParameters = match self.algorithm {
                    Algorithm::PS256 => &RSA_PSS_2048_8192_SHA256,
                    _ => &RSA_PKCS1_2048_8192_SHA256,
                };
                let without_zeros = |mut number: Vec<u8>| {
                    let zeros = number.iter().take_while(|byte| **byte == 0).count();
                    number.split_off(zeros)
                };
                let (n, e) = (without_zeros(bytes(n)?), without_zeros(bytes(e)?));
                let key = RsaPublicKeyComponents { n, e };
                key.verify(rule, self.signed.as_bytes(), &self.signature).is_ok()
            }
            Key::Ec { x, y, .. } => {
                let (x, y) = (bytes(x)?, bytes(y)?);
                // An uncompressed point.
                self.is_signed(&ECDSA_P256_SHA256_FIXED, &[&[4], &x[..], &y[..]].concat())
            }
            Key::Okp { x, .. } => self.is_signed(&ED25519, &bytes(x)?),
            Key::Other => false,
        })
    }

    fn is_signed(&self, rule: &'static dyn VerificationAlgorithm, key: &[u8]) -> bool {
        let key = UnparsedPublicKey::new(rule, key);
        key.verify(self.signed.as_bytes(), &self.signature).is_ok()
    }
}

/// A part of a token. NUL is refused everywhere, since PostgreSQL cannot store it.
fn read<T: for<'de> Deserialize<'de>>(part: &str) -> Option<T> {
    let text = BASE64.decode(part).ok()?;
    json::check(&text).ok()?;
    serde_json::from_slice(&text).ok()
}

#[cfg(test)]
mod tests {
    use aws_lc_rs::rand::SystemRandom;
    use aws_lc_rs::rsa::KeySize;
    use aws_lc_rs::signature::{
        ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair as _,
        RSA_PKCS1_SHA256, RSA_PSS_SHA256, RsaKeyPair,
    };
    use serde_json::json;

    use super::*;

    fn signed(header: &Value, sign: impl Fn(&[u8]) -> Vec<u8>) -> String {
        let part = |value: &Value| BASE64.encode(value.to_string());
        let text = format!("{}.{}", part(header), part(&json!({ "sub": "7" })));
        format!("{text}.{}", BASE64.encode(sign(text.as_bytes())))
    }

    fn verified(token: &str, keys: &Value) -> Option<Value> {
        Jwt::parse(token)?.verified(&KeySet::parse(&json!({ "keys": keys }))?)
    }

    #[test]
    fn each_algorithm_verifies_under_its_own_kind_of_key() {
        let random = SystemRandom::new();
        let rsa = RsaKeyPair::generate(KeySize::Rsa2048).unwrap();
        // In DER the modulus has a leading zero, and so it has in the sets of some issuers.
        let n = &rsa.public_key().as_ref()[8..265];
        let rsa_key = json!({ "kty": "RSA", "n": BASE64.encode(n), "e": "AQAB" });
        let ec = EcdsaKeyPair::generate(&ECDSA_P256_SHA256_FIXED_SIGNING).unwrap();
        let point = ec.public_key().as_ref()[1..].to_vec();
        let (x, y) = (BASE64.encode(&point[..32]), BASE64.encode(&point[32..]));
        let ec_key = json!({ "kty": "EC", "crv": "P-256", "x": x, "y": y });
        let ed = Ed25519KeyPair::generate().unwrap();
        let ed_x = BASE64.encode(ed.public_key().as_ref());
        let ed_key = json!({ "kty": "OKP", "crv": "Ed25519", "x": ed_x });
        let strange = json!({ "kty": "AKP", "alg": "ML-DSA-44", "pub": "x" });

        let by_rsa = |rule: &'static dyn aws_lc_rs::signature::RsaEncoding, text: &[u8]| {
            let mut signature = vec![0; rsa.public_modulus_len()];
            rsa.sign(rule, &random, text, &mut signature).unwrap();
            signature
        };
        let by_ec = |text: &[u8]| ec.sign(&random, text).unwrap().as_ref().to_vec();
        let tokens = [
            (
                "RS256",
                &rsa_key,
                signed(&json!({ "alg": "RS256" }), |t| by_rsa(&RSA_PKCS1_SHA256, t)),
            ),
            ("PS256", &rsa_key, signed(&json!({ "alg": "PS256" }), |t| by_rsa(&RSA_PSS_SHA256, t))),
            ("ES256", &ec_key, signed(&json!({ "alg": "ES256" }), by_ec)),
            (
                "EdDSA",
                &ed_key,
                signed(&json!({ "alg": "EdDSA" }), |t| ed.sign(t).as_ref().to_vec()),
            ),
        ];
        for (name, key, token) in &tokens {
            let all = json!([strange, rsa_key, ec_key, ed_key]);
            assert_eq!(verified(token, &all).unwrap()["sub"], "7", "{name}");
            let mut named = (*key).clone();
            named["kid"] = json!("1");
            named["alg"] = json!(name);
            named["use"] = json!("sig");
            assert!(verified(token, &json!([named])).is_some(), "{name}: no key id chooses any");
            let mut encrypts = named.clone();
            encrypts["use"] = json!("enc");
            let mut other = named.clone();
            other["alg"] = json!("RS512");
            for keys in [json!([encrypts]), json!([other]), json!([strange]), json!([])] {
                assert!(verified(token, &keys).is_none(), "{name}: {keys}");
            }
            let (text, _) = token.rsplit_once('.').unwrap();
            assert!(verified(&format!("{text}."), &all).is_none(), "{name}");
        }
        let crossed = signed(&json!({ "alg": "RS256" }), |t| by_rsa(&RSA_PSS_SHA256, t));
        assert!(verified(&crossed, &json!([rsa_key])).is_none());

        let with_id = signed(&json!({ "alg": "ES256", "kid": "2" }), by_ec);
        let mut named = ec_key.clone();
        named["kid"] = json!("1");
        let keys = KeySet::parse(&json!({ "keys": [named, ec_key] })).unwrap();
        assert!(!Jwt::parse(&with_id).unwrap().has_key_in(&keys));
        named["kid"] = json!("2");
        assert!(verified(&with_id, &json!([named])).is_some());
        let critical = signed(&json!({ "alg": "ES256", "crit": ["exp"] }), by_ec);
        assert!(Jwt::parse(&critical).is_none());
    }

    #[test]
    fn no_secret_stands_in_for_a_key() {
        let key = aws_lc_rs::hmac::Key::new(aws_lc_rs::hmac::HMAC_SHA256, b"n");
        let by_hmac = |text: &[u8]| aws_lc_rs::hmac::sign(&key, text).as_ref().to_vec();
        for alg in ["HS256", "none", "None", "RS1", ""] {
            assert!(Jwt::parse(&signed(&json!({ "alg": alg }), by_hmac)).is_none(), "{alg}");
        }
        let secret = json!([{ "kty": "oct", "k": BASE64.encode("n") }]);
        assert!(verified(&signed(&json!({ "alg": "RS256" }), by_hmac), &secret).is_none());
        assert!(Jwt::parse(&"a".repeat(MAX_TOKEN + 1)).is_none());
        for junk in ["", ".", "..", "a.b.c", "null"] {
            assert!(Jwt::parse(junk).is_none(), "{junk}");
        }
    }
}
