//! Signatures of requests to an endpoint, and of its replies. While a secret is being replaced, both count.

use aws_lc_rs::hmac;

use crate::auth::sealed::Sealer;
use crate::error::Result;
use crate::features::webhooks::store::EndpointRow;
use crate::values::ids::{ProjectId, QueueId};
use crate::values::javascript;
use crate::values::random::hex;

/// The place that a secret is sealed for.
pub(super) fn place(project: ProjectId, endpoint: QueueId) -> String {
    format!("webhook endpoint {endpoint} of project {project}")
}

/// The secrets of an endpoint, the current one first.
pub(super) struct Secrets(Vec<hmac::Key>);

impl Secrets {
    pub(super) fn open(sealer: &Sealer, project: ProjectId, row: &EndpointRow) -> Result<Self> {
        let place = place(project, row.id);
        let sealed = row.secret.iter().chain(&row.previous_secret);
        let opened = sealed.map(|sealed| {
            let secret = sealer.open(sealed, &place)?;
            Ok(hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes()))
        });
        Ok(Secrets(opened.collect::<Result<_>>()?))
    }

    /// One signature of a request for each secret.
    pub(super) fn sign(&self, timestamp: &str, body: &str) -> Vec<String> {
        let signed = format!("{timestamp}.{body}");
        self.0.iter().map(|key| hex(hmac::sign(key, signed.as_bytes()).as_ref())).collect()
    }

    /// Whether the endpoint has signed its reply: the bytes as they are, or as JavaScript would write them.
    pub(super) fn verify_reply(&self, body: &[u8], signature: &str) -> bool {
        let Some(signature) = from_hex(signature) else { return false };
        let compact =
            std::str::from_utf8(body).ok().and_then(|text| javascript::restringify(text).ok());
        let compact = compact.as_ref().map_or(body, |text| text.as_bytes());
        self.0.iter().any(|key| {
            hmac::verify(key, body, &signature).is_ok()
                || hmac::verify(key, compact, &signature).is_ok()
        })
    }
}

fn from_hex(text: &str) -> Option<Vec<u8>> {
    if text.len() != 64 || !text.is_ascii() {
        return None;
    }
    (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).ok()).collect()
}
