//! Forwarding headers from a peer that is not a trusted proxy: they are ignored, but suggest that an
//! unconfigured proxy is in front of the server, so that all its clients look like one.

use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use http::HeaderMap;

use crate::config::Config;
use crate::network::client::is_trusted;

/// Headers that proxies add and clients do not.
const HEADERS: [&str; 12] = [
    "x-forwarded-for",
    "x-forwarded-host",
    "x-forwarded-proto",
    "x-forwarded-port",
    "x-forwarded-server",
    "x-forwarded",
    "forwarded",
    "x-real-ip",
    "x-client-ip",
    "true-client-ip",
    "cf-connecting-ip",
    "via",
];
/// Written to the data directory for `townhall doctor`, which is another process.
const MARKER: &str = "untrusted-proxy";

/// Whether an untrusted peer has forwarded this request, or claims so.
pub fn is_untrusted(peer: IpAddr, headers: &HeaderMap, config: &Config) -> bool {
    headers.keys().any(|name| HEADERS.contains(&name.as_str()))
        && !is_trusted(peer, &config.trusted_proxies)
}

/// Logs once for each process that requests seem to come through a proxy that is not configured.
#[derive(Debug, Default)]
pub struct Notice(AtomicBool);

impl Notice {
    pub fn give(&self, peer: IpAddr, config: &Config) {
        if !config.trusted_proxies.is_empty() || self.0.swap(true, Ordering::Relaxed) {
            return;
        }
        tracing::warn!(
            %peer,
            "requests come with forwarding headers, but TOWNHALL_TRUSTED_PROXIES is not set: behind a \
             proxy, all clients share its limits"
        );
        let (file, text) = (marker(&config.data_dir), peer.to_string());
        tokio::task::spawn_blocking(move || {
            if let Err(error) = std::fs::write(&file, text) {
                tracing::warn!(%error, file = %file.display(), "the proxy could not be noted");
            }
        });
    }
}

fn marker(data_dir: &Path) -> PathBuf {
    data_dir.join(MARKER)
}

/// The address that sent forwarding headers while no proxy was trusted, as noted by the server.
pub fn untrusted_proxy(data_dir: &Path) -> Option<String> {
    std::fs::read_to_string(marker(data_dir)).ok()
}

/// At the start of a server: removes the note of an earlier one, whose settings may have differed.
pub fn forget_untrusted_proxy(data_dir: &Path) {
    let _ = std::fs::remove_file(marker(data_dir));
}
