//! The encryption of Web Push messages (RFC 8291): with a new key pair for each message and the keys of the
//! subscription, in one record of `aes128gcm` (RFC 8188). Only the browser can read it.

use aws_lc_rs::aead::{AES_128_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use aws_lc_rs::agreement::{ECDH_P256, PrivateKey, UnparsedPublicKey, agree};
use aws_lc_rs::error::Unspecified;
use aws_lc_rs::hkdf::{HKDF_SHA256, KeyType, Salt};

use crate::values::random::Random;

/// The size of the one record; services take no larger body.
const RECORD: u32 = 4096;
const SALT: usize = 16;
/// An uncompressed point of P-256.
const POINT: usize = 65;
const AUTH: usize = 16;
/// Salt, record size, length of the key, key.
const HEADER: usize = SALT + 4 + 1 + POINT;
/// The longest text: the record without its header, the mark of its end and the tag.
pub const MAX_TEXT: usize = RECORD as usize - HEADER - 1 - 16;

/// The keys of a subscription.
#[derive(Debug, Clone)]
pub struct Subscriber {
    pub public_key: Vec<u8>,
    pub auth: Vec<u8>,
}

/// None if the keys of the subscription are none, or the text is too long.
pub fn encrypt(text: &[u8], to: &Subscriber, random: &Random) -> Option<Vec<u8>> {
    let salt = random.bytes::<SALT>();
    // Hardly any 32 bytes are no private key; then others are drawn.
    let private = (0..8)
        .find_map(|_| PrivateKey::from_private_key(&ECDH_P256, &random.bytes::<32>()).ok())?;
    encrypt_with(text, to, &private, salt).ok()
}

fn encrypt_with(
    text: &[u8],
    to: &Subscriber,
    private: &PrivateKey,
    salt: [u8; SALT],
) -> Result<Vec<u8>, Unspecified> {
    if text.len() > MAX_TEXT || to.public_key.len() != POINT || to.auth.len() != AUTH {
        return Err(Unspecified);
    }
    let public = private.compute_public_key()?;
    let own = public.as_ref();
    let other = UnparsedPublicKey::new(&ECDH_P256, &to.public_key);
    let (key, nonce) = agree(private, other, Unspecified, |shared| {
        derive(shared, &to.auth, (&to.public_key, own), &salt)
    })?;
    let key = LessSafeKey::new(UnboundKey::new(&AES_128_GCM, &key)?);
    // 2: this is the last record.
    let mut sealed = [text, &[2]].concat();
    key.seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), Aad::empty(), &mut sealed)?;
    let length = [u8::try_from(POINT).map_err(|_| Unspecified)?];
    Ok([&salt[..], &RECORD.to_be_bytes(), &length, own, &sealed].concat())
}

/// The key and the nonce of the record.
fn derive(
    shared: &[u8],
    auth: &[u8],
    (subscriber, server): (&[u8], &[u8]),
    salt: &[u8],
) -> Result<([u8; 16], [u8; NONCE_LEN]), Unspecified> {
    let mut input = [0; 32];
    let info = [b"WebPush: info\0", subscriber, server];
    Salt::new(HKDF_SHA256, auth).extract(shared).expand(&info, Length(32))?.fill(&mut input)?;
    let record = Salt::new(HKDF_SHA256, salt).extract(&input);
    let (mut key, mut nonce) = ([0; 16], [0; NONCE_LEN]);
    record.expand(&[b"Content-Encoding: aes128gcm\0"], Length(16))?.fill(&mut key)?;
    record.expand(&[b"Content-Encoding: nonce\0"], Length(NONCE_LEN))?.fill(&mut nonce)?;
    Ok((key, nonce))
}

struct Length(usize);

impl KeyType for Length {
    fn len(&self) -> usize {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;

    use super::*;

    fn bytes(text: &str) -> Vec<u8> {
        BASE64.decode(text).unwrap()
    }

    const PUBLIC: &str =
        "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4";
    const AUTH_SECRET: &str = "BTBZMqHH6r4Tts7J_aSIgg";
    const TEXT: &[u8] = b"When I grow up, I want to be a watermelon";
    const BODY: &str = "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27ml\
                        mlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A_yl95bQpu6cVPT\
                        pK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN";

    fn subscriber() -> Subscriber {
        Subscriber { public_key: bytes(PUBLIC), auth: bytes(AUTH_SECRET) }
    }

    /// Section 5 and appendix A of RFC 8291.
    #[test]
    fn the_example_of_the_standard_is_encrypted_as_it_says() {
        let private = bytes("yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw");
        let private = PrivateKey::from_private_key(&ECDH_P256, &private).unwrap();
        let salt: [u8; SALT] = bytes("DGv6ra1nlYgDCS1FRnbzlw").try_into().unwrap();
        let body = encrypt_with(TEXT, &subscriber(), &private, salt).unwrap();
        assert_eq!(BASE64.encode(&body), BODY);
    }

    #[test]
    fn each_message_has_keys_of_its_own_and_fits() {
        let random = Random::seeded(9);
        let longest = vec![b'x'; MAX_TEXT];
        let body = encrypt(&longest, &subscriber(), &random).unwrap();
        assert_eq!(body.len(), RECORD as usize);
        assert_ne!(body, encrypt(&longest, &subscriber(), &random).unwrap());
        assert!(encrypt(&[longest, vec![b'x']].concat(), &subscriber(), &random).is_none());
    }

    #[test]
    fn keys_that_are_none_encrypt_nothing() {
        let random = Random::seeded(9);
        let off_the_curve = [vec![4], vec![1; POINT - 1]].concat();
        for wrong in [Vec::new(), vec![4; 10], off_the_curve] {
            let to = Subscriber { public_key: wrong, ..subscriber() };
            assert!(encrypt(TEXT, &to, &random).is_none());
        }
        let to = Subscriber { auth: vec![1; 15], ..subscriber() };
        assert!(encrypt(TEXT, &to, &random).is_none());
    }
}
