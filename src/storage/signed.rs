//! Signed addresses of stored files, with an expiry. A file keeps its address for half of the lifetime, so
//! that browsers can cache it. The host is the configured one, never that of the request.

use std::sync::Arc;
use std::time::Duration;

use aws_lc_rs::constant_time::verify_slices_are_equal;
use aws_lc_rs::hmac;

use crate::values::detail::Detail;
use crate::values::ids::ProjectId;
use crate::values::random::hex;
use crate::values::time::Timestamp;

/// What is signed in place of an expiry.
const LASTING: &str = "";
/// How long caches may keep a file with a lasting address, in seconds.
const ONE_YEAR: i64 = 365 * 24 * 3600;

#[derive(Debug)]
pub struct Signer {
    key: hmac::Key,
    /// Of the secret before this one: it verifies, but no longer signs.
    previous: Option<hmac::Key>,
    /// Without a trailing slash.
    base: String,
    lifetime: Duration,
}

impl Signer {
    pub fn new(secret: &[u8], base: &str, lifetime: Duration) -> Arc<Self> {
        Signer::accepting(None, secret, base, lifetime)
    }

    /// Also accepts addresses that were signed with the secret before this one.
    pub fn accepting(
        previous: Option<&[u8]>,
        secret: &[u8],
        base: &str,
        lifetime: Duration,
    ) -> Arc<Self> {
        let (key, previous) = (key_of(secret), previous.map(key_of));
        Arc::new(Signer { key, previous, base: base.to_owned(), lifetime })
    }

    /// The expiry for replies of this moment.
    pub fn links(self: &Arc<Self>, project: ProjectId, now: Timestamp) -> Links {
        // Rounded down to windows of half the lifetime: valid for at least the other half, and never longer
        // than configured.
        let window = i64::try_from(self.lifetime.as_secs() / 2).unwrap_or(i64::MAX).max(1);
        let expires = now.plus(self.lifetime).seconds();
        let expires = expires - expires.rem_euclid(window);
        Links { signer: self.clone(), project, expires, detail: Detail::Documented }
    }

    /// An address that never expires.
    pub fn lasting_url(&self, project: ProjectId, path: &str) -> String {
        let (base, signature) = (&self.base, self.signature(project, path, LASTING));
        format!("{base}/internal/files/{project}/{path}?signature={signature}")
    }

    /// An address that expires then.
    pub fn url_until(&self, project: ProjectId, path: &str, expires: Timestamp) -> String {
        let (base, expires) = (&self.base, expires.seconds().to_string());
        let signature = self.signature(project, path, &expires);
        format!("{base}/internal/files/{project}/{path}?expires={expires}&signature={signature}")
    }

    /// A lasting signature of an address of another kind. `purpose` names the kind first.
    pub fn sign_for(&self, project: ProjectId, purpose: &str) -> String {
        signed_purpose(&self.key, project, purpose)
    }

    pub fn is_signed_for(&self, project: ProjectId, purpose: &str, signature: &str) -> bool {
        std::iter::once(&self.key).chain(&self.previous).any(|key| {
            let expected = signed_purpose(key, project, purpose);
            verify_slices_are_equal(expected.as_bytes(), signature.as_bytes()).is_ok()
        })
    }

    fn signature(&self, project: ProjectId, path: &str, expires: &str) -> String {
        signature(&self.key, project, path, expires)
    }

    /// Remaining seconds of validity; `None` if expired or not valid. Without an expiry the signature must be
    /// that of a lasting address.
    pub fn verify(
        &self,
        project: ProjectId,
        path: &str,
        expires: &str,
        signature: &str,
        now: Timestamp,
    ) -> Option<i64> {
        std::iter::once(&self.key).chain(&self.previous).find_map(|key| {
            let expected = self::signature(key, project, path, expires);
            verify_slices_are_equal(expected.as_bytes(), signature.as_bytes()).ok()
        })?;
        if expires == LASTING {
            return Some(ONE_YEAR);
        }
        let left = expires.parse::<i64>().ok()?.checked_sub(now.seconds())?;
        (left > 0).then_some(left)
    }
}

fn key_of(secret: &[u8]) -> hmac::Key {
    let root = hmac::Key::new(hmac::HMAC_SHA256, secret);
    let derived = hmac::sign(&root, b"townhall file address");
    hmac::Key::new(hmac::HMAC_SHA256, derived.as_ref())
}

fn signature(key: &hmac::Key, project: ProjectId, path: &str, expires: &str) -> String {
    let signed = hmac::sign(key, format!("{project}/{path}\n{expires}").as_bytes());
    hex(signed.as_ref())
}

/// The line break after the project keeps it apart from what is signed for a file, where a slash follows.
fn signed_purpose(key: &hmac::Key, project: ProjectId, purpose: &str) -> String {
    let signed = hmac::sign(key, format!("{project}\n{purpose}").as_bytes());
    hex(signed.as_ref())
}

/// Makes addresses of one project's files for a reply, and says how much the reply shows.
#[derive(Debug, Clone)]
pub struct Links {
    signer: Arc<Signer>,
    pub project: ProjectId,
    pub detail: Detail,
    expires: i64,
}

impl Links {
    pub fn with_detail(self, detail: Detail) -> Self {
        Links { detail, ..self }
    }

    /// Paths are slugs and need no encoding.
    pub fn url(&self, path: &str) -> String {
        let Links { signer, project, expires, .. } = self;
        let expires = expires.to_string();
        let signature = signer.signature(*project, path, &expires);
        let base = &signer.base;
        format!("{base}/internal/files/{project}/{path}?expires={expires}&signature={signature}")
    }

    /// The address of an avatar: of the stored file, or else the URL that the user has given.
    pub fn avatar(&self, stored: Option<&str>, given: Option<&str>) -> Option<String> {
        stored.map(|path| self.url(path)).or_else(|| given.map(ToOwned::to_owned))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use uuid::Uuid;

    const NOW: Timestamp = Timestamp::from_millis(1_785_542_400_000);

    #[test]
    fn an_address_holds_for_its_path_its_project_and_its_time() {
        let day = Duration::from_secs(86_400);
        let signer = Signer::new(b"secret", "https://x.example", day);
        let project = ProjectId(Uuid::from_u128(7));
        let url = signer.links(project, NOW).url("a/b.txt");
        let start = format!("https://x.example/internal/files/{project}/a/b.txt?expires=");
        let (expires, signature) =
            url.strip_prefix(&start).and_then(|rest| rest.split_once("&signature=")).unwrap();
        assert_eq!(expires, "1785628800");
        let verify = |project, path, expires: &str, signature: &str, now| {
            signer.verify(project, path, expires, signature, now)
        };
        assert_eq!(verify(project, "a/b.txt", expires, signature, NOW), Some(86_400));
        let last = NOW.plus(day - Duration::from_secs(1));
        assert_eq!(verify(project, "a/b.txt", expires, signature, last), Some(1));

        let other = ProjectId(Uuid::from_u128(8));
        let upper = signature.to_uppercase();
        for (what, left) in [
            ("expired", verify(project, "a/b.txt", expires, signature, NOW.plus(day))),
            ("other project", verify(other, "a/b.txt", expires, signature, NOW)),
            ("other path", verify(project, "a/c.txt", expires, signature, NOW)),
            ("later", verify(project, "a/b.txt", "1785628801", signature, NOW)),
            ("padded", verify(project, "a/b.txt", "01785628800", signature, NOW)),
            ("upper case", verify(project, "a/b.txt", expires, &upper, NOW)),
            ("empty", verify(project, "a/b.txt", expires, "", NOW)),
        ] {
            assert_eq!(left, None, "{what}");
        }
        let lasting = signer.lasting_url(project, "a/b.txt");
        let start = format!("https://x.example/internal/files/{project}/a/b.txt?signature=");
        let lasting = lasting.strip_prefix(&start).unwrap();
        let never = NOW.plus(day * 36_500);
        assert!(verify(project, "a/b.txt", "", lasting, never).is_some());
        for (what, left) in [
            ("expiry removed", verify(project, "a/b.txt", "", signature, NOW)),
            ("expiry added", verify(project, "a/b.txt", expires, lasting, NOW)),
            ("lasting, other path", verify(project, "a/c.txt", "", lasting, NOW)),
            ("lasting, other project", verify(other, "a/b.txt", "", lasting, NOW)),
        ] {
            assert_eq!(left, None, "{what}");
        }
        let elsewhere = Signer::new(b"another", "https://x.example", day);
        assert_eq!(elsewhere.verify(project, "a/b.txt", expires, signature, NOW), None);
    }

    #[test]
    fn an_address_stays_the_same_for_half_its_lifetime() {
        for lifetime in [1, 2, 3, 90, 3_600, 86_400, 86_401, 7 * 86_400] {
            let signer = Signer::new(b"secret", "", Duration::from_secs(lifetime));
            let lifetime = i64::try_from(lifetime).unwrap();
            let start = NOW.seconds() / lifetime * lifetime;
            let step = (lifetime / 40).max(1);
            let at = |seconds| {
                signer.links(ProjectId(Uuid::nil()), Timestamp::from_millis(seconds * 1_000))
            };
            let mut addresses = std::collections::BTreeSet::new();
            for seconds in (0..3 * lifetime).step_by(step as usize).map(|after| start + after) {
                let expires = at(seconds).expires;
                let left = expires - seconds;
                assert!(left <= lifetime && 2 * left > lifetime - 2, "{lifetime}: {left}");
                addresses.insert(expires);
            }
            let windows = 3 * lifetime / (lifetime / 2).max(1) + 1;
            assert!(addresses.len() as i64 <= windows, "{lifetime}: {}", addresses.len());
        }
    }
}
