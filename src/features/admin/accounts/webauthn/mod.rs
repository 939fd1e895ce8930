//! What a passkey proves (Web Authentication, Level 3): that it was made for this site, that its owner was asked and
//! recognized, and that it has signed our challenge. Attestation is not asked for: any authenticator will do.

mod cbor;

use aws_lc_rs::digest::{SHA256, digest};
use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_ASN1, ED25519, RSA_PKCS1_2048_8192_SHA256, RsaPublicKeyComponents,
    UnparsedPublicKey, VerificationAlgorithm,
};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use serde::Deserialize;
use url::Url;

use self::cbor::Value;

/// Algorithms of COSE, in the order of preference.
pub(super) const ALGORITHMS: [i64; 3] = [EDDSA, ES256, RS256];
const ES256: i64 = -7;
const EDDSA: i64 = -8;
const RS256: i64 = -257;
/// As the specification has it.
const LONGEST_CREDENTIAL_ID: usize = 1023;

/// Bits of the authenticator data.
const USER_PRESENT: u8 = 1;
const USER_VERIFIED: u8 = 1 << 2;
const HAS_CREDENTIAL: u8 = 1 << 6;

/// Why a passkey was not accepted; for the log, the visitor learns no more than that it was not.
pub(super) type Refused = &'static str;

/// This site, as browsers and authenticators know it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Site {
    /// The host.
    pub id: String,
    pub origin: String,
}

impl Site {
    /// Of the public address; none if passkeys cannot be bound to it, such as that of an IP address.
    pub(super) fn of(public_url: &str) -> Option<Self> {
        let url = Url::parse(public_url).ok()?;
        let id = url.domain()?.to_owned();
        let is_safe = url.scheme() == "https" || id == "localhost";
        is_safe.then(|| Site { id, origin: url.origin().ascii_serialization() })
    }
}

/// A new passkey.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Registered {
    pub credential_id: Vec<u8>,
    pub public_key: Vec<u8>,
    pub sign_count: u32,
}

/// What a browser reports of a registration.
pub(super) fn register(
    site: &Site,
    challenge: &[u8],
    client_data: &[u8],
    attestation: &[u8],
) -> Result<Registered, Refused> {
    ClientData::read(client_data)?.check(site, "webauthn.create", challenge)?;
    let data = authenticator_data(attestation)?;
    let data = AuthenticatorData::read(data, site)?;
    data.require_verified()?;
    let (credential_id, public_key) = data.credential.ok_or("there is no credential")?;
    // A key that could not be used is refused now, not at the first sign-in.
    PublicKey::read(public_key)?;
    let (credential_id, public_key) = (credential_id.to_vec(), public_key.to_vec());
    Ok(Registered { credential_id, public_key, sign_count: data.sign_count })
}

/// What a browser reports of a sign-in.
#[derive(Debug)]
pub(super) struct Assertion<'a> {
    pub client_data: &'a [u8],
    pub authenticator_data: &'a [u8],
    pub signature: &'a [u8],
}

impl Assertion<'_> {
    /// The new counter of the passkey, if everything fits.
    pub(super) fn verify(
        &self,
        site: &Site,
        challenge: &[u8],
        public_key: &[u8],
    ) -> Result<u32, Refused> {
        ClientData::read(self.client_data)?.check(site, "webauthn.get", challenge)?;
        let data = AuthenticatorData::read(self.authenticator_data, site)?;
        data.require_verified()?;
        self.verify_signature(public_key)?;
        Ok(data.sign_count)
    }

    fn verify_signature(&self, public_key: &[u8]) -> Result<(), Refused> {
        let client_data = digest(&SHA256, self.client_data);
        let signed = [self.authenticator_data, client_data.as_ref()].concat();
        PublicKey::read(public_key)?.verify(&signed, self.signature)
    }
}

/// The challenge that a browser says was signed.
pub(super) fn challenge(client_data: &[u8]) -> Result<Vec<u8>, Refused> {
    let challenge = ClientData::read(client_data)?.challenge;
    BASE64.decode(challenge).map_err(|_| "the challenge is no base64")
}

/// What the browser, not the authenticator, says.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ClientData {
    r#type: String,
    challenge: String,
    origin: String,
    #[serde(default)]
    cross_origin: bool,
}

impl ClientData {
    fn read(bytes: &[u8]) -> Result<Self, Refused> {
        serde_json::from_slice(bytes).map_err(|_| "the client data is no JSON")
    }

    fn check(&self, site: &Site, kind: &str, challenge: &[u8]) -> Result<(), Refused> {
        if self.r#type != kind {
            return Err("it was made for something else");
        }
        if self.challenge != BASE64.encode(challenge) {
            return Err("another challenge was signed");
        }
        if self.origin != site.origin || self.cross_origin {
            return Err("it was made by another site");
        }
        Ok(())
    }
}

/// That of an attestation object. Its statement is not looked at.
fn authenticator_data(attestation: &[u8]) -> Result<&[u8], Refused> {
    let (object, rest) = Value::read(attestation).ok_or("the attestation is no CBOR")?;
    let data = object.get(&Value::Text("authData")).and_then(Value::bytes);
    data.filter(|_| rest.is_empty()).ok_or("the attestation has no authenticator data")
}

#[derive(Debug)]
struct AuthenticatorData<'a> {
    flags: u8,
    sign_count: u32,
    /// The id and the COSE key.
    credential: Option<(&'a [u8], &'a [u8])>,
}

impl<'a> AuthenticatorData<'a> {
    /// Refuses what another site's passkey has signed.
    fn read(bytes: &'a [u8], site: &Site) -> Result<Self, Refused> {
        let short = "the authenticator data is too short";
        let (site_hash, rest) = bytes.split_at_checked(32).ok_or(short)?;
        let (&[flags, a, b, c, d], rest) = rest.split_first_chunk::<5>().ok_or(short)?;
        if site_hash != digest(&SHA256, site.id.as_bytes()).as_ref() {
            return Err("it belongs to another site");
        }
        let credential =
            if flags & HAS_CREDENTIAL != 0 { Some(credential(rest).ok_or(short)?) } else { None };
        Ok(AuthenticatorData { flags, sign_count: u32::from_be_bytes([a, b, c, d]), credential })
    }

    /// Somebody was there, and the authenticator has recognized them by PIN, finger or face.
    fn require_verified(&self) -> Result<(), Refused> {
        let needed = USER_PRESENT | USER_VERIFIED;
        if self.flags & needed == needed { Ok(()) } else { Err("the user was not verified") }
    }
}

/// After the id of the model: the length, the id and the key of a credential.
fn credential(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (_, rest) = bytes.split_at_checked(16)?;
    let (length, rest) = rest.split_first_chunk::<2>()?;
    let length = usize::from(u16::from_be_bytes(*length));
    let (id, rest) = rest.split_at_checked(length)?;
    let (_, after) = Value::read(rest)?;
    let key = rest.get(..rest.len() - after.len())?;
    (length <= LONGEST_CREDENTIAL_ID).then_some((id, key))
}

#[derive(Debug)]
enum PublicKey<'a> {
    /// An uncompressed point of P-256.
    Es256(Vec<u8>),
    Ed25519(&'a [u8]),
    Rs256 {
        modulus: &'a [u8],
        exponent: &'a [u8],
    },
}

impl<'a> PublicKey<'a> {
    /// A COSE key (RFC 9053): its type is 1, its algorithm 3, its parameters are negative.
    fn read(bytes: &'a [u8]) -> Result<Self, Refused> {
        let (key, _) = Value::read(bytes).ok_or("the key is no CBOR")?;
        let number = |name: i64| key.get(&Value::Number(name)).and_then(Value::number);
        let bytes = |name: i64| {
            key.get(&Value::Number(name)).and_then(Value::bytes).ok_or("the key lacks a part")
        };
        match (number(1), number(3), number(-1)) {
            (Some(2), Some(ES256), Some(1)) => {
                let (x, y) = (bytes(-2)?, bytes(-3)?);
                if x.len() != 32 || y.len() != 32 {
                    return Err("the key is no point of P-256");
                }
                Ok(PublicKey::Es256([&[4], x, y].concat()))
            }
            (Some(1), Some(EDDSA), Some(6)) => Ok(PublicKey::Ed25519(bytes(-2)?)),
            (Some(3), Some(RS256), _) => {
                Ok(PublicKey::Rs256 { modulus: bytes(-1)?, exponent: bytes(-2)? })
            }
            _ => Err("the key is of an unknown kind"),
        }
    }

    fn verify(&self, signed: &[u8], signature: &[u8]) -> Result<(), Refused> {
        let by = |algorithm: &'static dyn VerificationAlgorithm, key: &[u8]| {
            UnparsedPublicKey::new(algorithm, key).verify(signed, signature)
        };
        let verified = match self {
            PublicKey::Es256(point) => by(&ECDSA_P256_SHA256_ASN1, point),
            PublicKey::Ed25519(key) => by(&ED25519, key),
            PublicKey::Rs256 { modulus, exponent } => {
                RsaPublicKeyComponents { n: modulus, e: exponent }.verify(
                    &RSA_PKCS1_2048_8192_SHA256,
                    signed,
                    signature,
                )
            }
        };
        verified.map_err(|_| "the signature does not fit")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Vector {
        name: &'static str,
        parts: Vec<Vec<u8>>,
    }

    fn vectors() -> Vec<Vector> {
        let lines = include_str!("vectors.txt").lines().filter(|line| !line.starts_with('#'));
        let vector = |line: &'static str| {
            let mut words = line.split(' ');
            let name = words.next().unwrap();
            let bytes = |word: &str| {
                let pairs = word.as_bytes().chunks(2);
                let byte = |pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16);
                pairs.map(|pair| byte(pair).unwrap()).collect()
            };
            Vector { name, parts: words.map(bytes).collect() }
        };
        lines.map(vector).collect()
    }

    fn site() -> Site {
        Site::of("https://example.org").unwrap()
    }

    /// The key of a registration, whether or not its owner was verified.
    fn key(vector: &Vector) -> Vec<u8> {
        let data = authenticator_data(&vector.parts[2]).unwrap();
        let data = AuthenticatorData::read(data, &site()).unwrap();
        data.credential.unwrap().1.to_vec()
    }

    fn assertion(parts: &[Vec<u8>]) -> Assertion<'_> {
        let [_, _, _, _, authenticator_data, client_data, signature] = parts else {
            panic!("{} parts", parts.len())
        };
        Assertion { client_data, authenticator_data, signature }
    }

    #[test]
    fn the_vectors_of_the_specification_are_verified() {
        let vectors = vectors();
        assert_eq!(vectors.len(), 8);
        let mut whole = 0;
        for vector in &vectors {
            let Vector { name, parts } = vector;
            let key = key(vector);
            assert_eq!(assertion(parts).verify_signature(&key), Ok(()), "{name}");
            let registered = register(&site(), &parts[0], &parts[1], &parts[2]);
            let signed_in = assertion(parts).verify(&site(), &parts[3], &key);
            // Some of them have not asked who was there, some were made in a frame.
            let has = |data: &[u8]| data[32] & USER_VERIFIED != 0;
            let is_framed = name.contains("Origin");
            let registers = has(authenticator_data(&parts[2]).unwrap()) && !is_framed;
            let signs_in = has(&parts[4]) && !is_framed;
            assert_eq!(registered.is_ok(), registers, "{name}: {registered:?}");
            assert_eq!(signed_in.is_ok(), signs_in, "{name}: {signed_in:?}");
            whole += usize::from(registers) + usize::from(signs_in);
        }
        assert!(whole >= 5, "{whole}");
    }

    #[test]
    fn whatever_is_changed_is_refused() {
        let vectors = vectors();
        let vector = vectors.iter().find(|vector| vector.name == "packed-es256").unwrap();
        let (parts, key) = (&vector.parts, key(vector));
        assert_eq!(assertion(parts).verify(&site(), &parts[3], &key), Ok(0));
        // Every byte of the signed data and some of the rest.
        for part in [4, 5, 6] {
            for at in 0..parts[part].len() {
                let mut changed = parts.clone();
                changed[part][at] ^= 1;
                let refused = assertion(&changed).verify(&site(), &parts[3], &key);
                assert!(refused.is_err(), "byte {at} of part {part}");
            }
        }
        let other = Site::of("https://example.com").unwrap();
        assert!(assertion(parts).verify(&other, &parts[3], &key).is_err());
        assert!(assertion(parts).verify(&site(), &parts[0], &key).is_err());
        assert!(register(&other, &parts[0], &parts[1], &parts[2]).is_err());
        assert!(register(&site(), &parts[3], &parts[1], &parts[2]).is_err());
        // A sign-in is no registration, nor the other way round.
        assert!(register(&site(), &parts[3], &parts[5], &parts[2]).is_err());
        for length in 0..parts[2].len() {
            assert!(register(&site(), &parts[0], &parts[1], &parts[2][..length]).is_err());
        }
        for length in 0..key.len() {
            assert!(assertion(parts).verify(&site(), &parts[3], &key[..length]).is_err());
        }
    }

    #[test]
    fn a_site_is_a_domain_over_tls() {
        let site = Site::of("https://community.example:8443/").unwrap();
        assert_eq!(
            (&*site.id, &*site.origin),
            ("community.example", "https://community.example:8443")
        );
        assert_eq!(Site::of("http://localhost:8080").unwrap().origin, "http://localhost:8080");
        for none in ["http://community.example", "https://192.0.2.1", "http://127.0.0.1:8080", ""] {
            assert_eq!(Site::of(none), None, "{none}");
        }
    }
}
