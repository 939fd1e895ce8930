//! Cheap attacks, each with the number that says whether the server stands it.

pub mod bodies;
pub mod connections;
pub mod documents;
pub mod mail;
pub mod pictures;
pub mod shutdown;
pub mod silence;

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

use bench::clock::now;

use crate::http::Caller;

/// Bytes in a mebibyte.
const MIB: u64 = 1024 * 1024;

/// One of the addresses of the loopback network: each is a network of its own to the server.
fn network(number: u8) -> IpAddr {
    Ipv4Addr::new(127, 0, 1, number).into()
}

/// What an innocent client sees during an attack.
#[derive(Debug, Default)]
struct Probes {
    asked: u32,
    refused: u32,
    slowest: Duration,
}

impl Probes {
    /// Asks for these paths again and again, from a network of its own, until the time is over.
    async fn during(length: Duration, address: SocketAddr, paths: &[&str]) -> Probes {
        let mut probes = Probes::default();
        let end = now() + length;
        while now() < end {
            for path in paths {
                // A new connection each time: an attack may be on those.
                let mut caller = Caller::from(network(250), address);
                let asked = now();
                let reply = caller.call("GET", path, "", None).await;
                probes.slowest = probes.slowest.max(now() - asked);
                probes.asked += 1;
                probes.refused += u32::from(!reply.is_ok_and(|reply| reply.status == 200));
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        probes
    }
}
