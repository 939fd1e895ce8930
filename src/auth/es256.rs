//! ES256: the JWT that Apple takes in place of a client secret.

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use serde_json::{Value, json};

use crate::auth::rs256::from_pem;

/// Signs the claims with a private key (PKCS#8, PEM) that has this id; `None` if it is no P-256 key.
pub fn sign(private_key: &str, key_id: &str, claims: &Value) -> Option<String> {
    let der = from_pem(private_key)?;
    let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &der).ok()?;
    let header = json!({ "alg": "ES256", "kid": key_id, "typ": "JWT" });
    let part = |value: &Value| BASE64.encode(value.to_string());
    let signed = format!("{}.{}", part(&header), part(claims));
    let signature = pair.sign(&SystemRandom::new(), signed.as_bytes()).ok()?;
    Some(format!("{signed}.{}", BASE64.encode(signature.as_ref())))
}
