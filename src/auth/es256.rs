//! ES256: the JWTs that Apple and push services take in place of a secret.

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use serde_json::{Value, json};

use crate::auth::rs256::{from_pem, pem};

/// A new private key (PKCS#8, PEM), and its public key as an uncompressed point.
pub fn generate() -> Option<(String, Vec<u8>)> {
    let pair = EcdsaKeyPair::generate(&ECDSA_P256_SHA256_FIXED_SIGNING).ok()?;
    let der = pair.to_pkcs8v1().ok()?;
    Some((pem("PRIVATE KEY", der.as_ref()), pair.public_key().as_ref().to_vec()))
}

/// Signs the claims with a private key (PKCS#8, PEM), which may have an id; `None` if it is no P-256 key.
pub fn sign(private_key: &str, key_id: Option<&str>, claims: &Value) -> Option<String> {
    let der = from_pem(private_key)?;
    let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &der).ok()?;
    let header = match key_id {
        Some(id) => json!({ "alg": "ES256", "kid": id, "typ": "JWT" }),
        None => json!({ "alg": "ES256", "typ": "JWT" }),
    };
    let part = |value: &Value| BASE64.encode(value.to_string());
    let signed = format!("{}.{}", part(&header), part(claims));
    let signature = pair.sign(&SystemRandom::new(), signed.as_bytes()).ok()?;
    Some(format!("{signed}.{}", BASE64.encode(signature.as_ref())))
}
