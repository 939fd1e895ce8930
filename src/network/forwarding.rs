//! Forwarding headers from a peer that is not a trusted proxy: nothing in them is believed, but they say
//! that a proxy is likely in front of the server, which then looks like every client of it.

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
/// Left in the data directory for `townhall doctor`, which is another process.
const MARKER: &str = "untrusted-proxy";

/// Whether somebody who is not a trusted proxy has forwarded this request, or says so.
pub fn is_untrusted(peer: IpAddr, headers: &HeaderMap, config: &Config) -> bool {
    headers.keys().any(|name| HEADERS.contains(&name.as_str()))
        && !is_trusted(peer, &config.trusted_proxies)
}

/// Says once for each process that requests seem to come through a proxy that is not configured.
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

/// At the start of a server: the note of an earlier one says nothing about these settings.
pub fn forget_untrusted_proxy(data_dir: &Path) {
    let _ = std::fs::remove_file(marker(data_dir));
}
