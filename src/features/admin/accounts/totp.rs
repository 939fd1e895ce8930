//! One-time passwords by time (RFC 6238): six digits, steps of 30 seconds, HMAC-SHA-1, as authenticator apps expect.

use aws_lc_rs::hmac::{HMAC_SHA1_FOR_LEGACY_USE_ONLY, Key, sign};
use qrcodegen::{QrCode, QrCodeEcc};

use crate::http::query::percent_encode;
use crate::values::random::Random;
use crate::values::time::Timestamp;

const STEP: i64 = 30;
const DIGITS: u32 = 1_000_000;
/// Clocks may be this many steps apart.
const SLACK: i64 = 1;
const BASE_32: &[u8; 32] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

/// The secret in base 32, as people type it into an app.
pub(super) fn new_secret(random: &Random) -> String {
    random.bytes::<32>().iter().map(|byte| char::from(BASE_32[usize::from(byte % 32)])).collect()
}

fn decode(secret: &str) -> Option<Vec<u8>> {
    let (mut bytes, mut buffer, mut bits) = (Vec::new(), 0_u32, 0);
    for letter in secret.bytes() {
        let value = BASE_32.iter().position(|known| *known == letter)?;
        buffer = (buffer << 5) | u32::try_from(value).ok()?;
        bits += 5;
        if bits >= 8 {
            bits -= 8;
            bytes.push(u8::try_from((buffer >> bits) & 0xff).ok()?);
        }
    }
    Some(bytes)
}

/// The step whose code this is, if it is one of now.
pub(super) fn verify(secret: &str, code: &str, now: Timestamp) -> Option<i64> {
    let code = code.chars().filter(|letter| !letter.is_whitespace()).collect::<String>();
    let key = decode(secret)?;
    let current = now.seconds() / STEP;
    (current - SLACK..=current + SLACK)
        .find(|step| at(&key, *step).is_some_and(|known| known == code))
}

fn at(key: &[u8], step: i64) -> Option<String> {
    let tag = sign(&Key::new(HMAC_SHA1_FOR_LEGACY_USE_ONLY, key), &step.to_be_bytes());
    let tag = tag.as_ref();
    let offset = usize::from(tag.last()? & 0xf);
    let word = u32::from_be_bytes(tag.get(offset..offset + 4)?.try_into().ok()?) & 0x7fff_ffff;
    Some(format!("{:06}", word % DIGITS))
}

/// What apps read from the code.
pub(super) fn address(secret: &str, email: &str) -> String {
    format!("otpauth://totp/Townhall:{}?secret={secret}&issuer=Townhall", percent_encode(email))
}

/// The code as SVG.
pub(super) fn qr_code(address: &str) -> Option<String> {
    let code = QrCode::encode_text(address, QrCodeEcc::Medium).ok()?;
    let dark = (0..code.size()).flat_map(|y| (0..code.size()).map(move |x| (x, y)));
    let path: String = dark
        .filter(|(x, y)| code.get_module(*x, *y))
        .map(|(x, y)| format!("M{},{}h1v1h-1z", x + 4, y + 4))
        .collect();
    let size = code.size() + 8;
    Some(format!(
        "<svg class=\"qr\" role=\"img\" aria-label=\"QR code\" viewBox=\"0 0 {size} {size}\" xmlns=\"http://www.w3.org/2000/svg\">\
         <rect width=\"100%\" height=\"100%\" fill=\"#fff\"/><path d=\"{path}\" fill=\"#000\"/></svg>"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The vectors of RFC 6238 for SHA-1, of which apps show the last six digits.
    #[test]
    fn codes_are_those_of_the_standard() {
        let secret = "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ";
        for (seconds, code) in [
            (59, "287082"),
            (1_111_111_109, "081804"),
            (1_111_111_111, "050471"),
            (1_234_567_890, "005924"),
            (2_000_000_000, "279037"),
            (20_000_000_000, "353130"),
        ] {
            let now = Timestamp::from_millis(seconds * 1000);
            assert_eq!(verify(secret, code, now), Some(seconds / STEP), "{code}");
            let much_later = Timestamp::from_millis((seconds + 90) * 1000);
            assert_eq!(verify(secret, code, much_later), None, "{code}");
        }
    }

    #[test]
    fn a_secret_has_160_bits_and_is_read_back() {
        let secret = new_secret(&Random::seeded(1));
        assert_eq!(decode(&secret).unwrap().len(), 20);
        assert!(qr_code(&address(&secret, "a@b.example")).unwrap().contains("M4,4h1v1h-1z"));
    }
}
