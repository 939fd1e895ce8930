//! Which addresses are public. All others (this machine, its network, cloud metadata services, reserved
//! blocks) are refused for calls to URLs from users (SSRF).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Special blocks of IPv4, after the IANA registry.
const SPECIAL_V4: [(Ipv4Addr, u32); 15] = [
    (Ipv4Addr::new(0, 0, 0, 0), 8),
    (Ipv4Addr::new(10, 0, 0, 0), 8),
    (Ipv4Addr::new(100, 64, 0, 0), 10),
    (Ipv4Addr::new(127, 0, 0, 0), 8),
    (Ipv4Addr::new(169, 254, 0, 0), 16),
    (Ipv4Addr::new(172, 16, 0, 0), 12),
    (Ipv4Addr::new(192, 0, 0, 0), 24),
    (Ipv4Addr::new(192, 0, 2, 0), 24),
    (Ipv4Addr::new(192, 88, 99, 0), 24),
    (Ipv4Addr::new(192, 168, 0, 0), 16),
    (Ipv4Addr::new(198, 18, 0, 0), 15),
    (Ipv4Addr::new(198, 51, 100, 0), 24),
    (Ipv4Addr::new(203, 0, 113, 0), 24),
    (Ipv4Addr::new(224, 0, 0, 0), 4),
    (Ipv4Addr::new(240, 0, 0, 0), 4),
];

/// Global unicast, the only part of IPv6 that is handed out to the public.
const GLOBAL_V6: (Ipv6Addr, u32) = (Ipv6Addr::new(0x2000, 0, 0, 0, 0, 0, 0, 0), 3);

/// Special blocks within it: protocol assignments (including Teredo), documentation, 6to4. The two tunnels
/// are refused entirely: they are obsolete, and can reach any IPv4 address.
const SPECIAL_V6: [(Ipv6Addr, u32); 4] = [
    (Ipv6Addr::new(0x2001, 0, 0, 0, 0, 0, 0, 0), 23),
    (Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0), 32),
    (Ipv6Addr::new(0x2002, 0, 0, 0, 0, 0, 0, 0), 16),
    (Ipv6Addr::new(0x3fff, 0, 0, 0, 0, 0, 0, 0), 20),
];

/// NAT64: on networks without IPv4, addresses in this block reach any IPv4 host.
const NAT64: (Ipv6Addr, u32) = (Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, 0, 0), 96);

pub fn is_public(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(v4) => !SPECIAL_V4.iter().any(|block| within_v4(v4, *block)),
        IpAddr::V6(v6) if within_v6(v6, NAT64) => {
            let [.., a, b, c, d] = v6.octets();
            is_public(IpAddr::V4(Ipv4Addr::new(a, b, c, d)))
        }
        IpAddr::V6(v6) => {
            within_v6(v6, GLOBAL_V6) && !SPECIAL_V6.iter().any(|block| within_v6(v6, *block))
        }
    }
}

fn within_v4(address: Ipv4Addr, (network, prefix): (Ipv4Addr, u32)) -> bool {
    (address.to_bits() ^ network.to_bits()) >> (32 - prefix) == 0
}

fn within_v6(address: Ipv6Addr, (network, prefix): (Ipv6Addr, u32)) -> bool {
    (address.to_bits() ^ network.to_bits()) >> (128 - prefix) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_public_internet_is_public() {
        let table = [
            (true, "1.1.1.1 8.8.8.8 93.184.216.34 100.63.255.255 100.128.0.0 172.15.255.255"),
            (true, "172.32.0.1 192.167.1.1 198.20.0.1 223.255.255.255"),
            (true, "2606:4700::1111 2a00:1450:4001::200e 2001:4860:4860::8888 3ffe::1"),
            // An embedded IPv4 address is checked as such.
            (true, "::ffff:8.8.8.8 64:ff9b::808:808"),
            (false, "127.0.0.1 127.255.255.255 0.0.0.0 0.1.2.3 10.0.0.1 10.255.255.255"),
            (false, "172.16.0.1 172.31.255.255 192.168.0.1 100.64.0.1 100.127.255.255"),
            (false, "169.254.169.254 169.254.0.1 192.0.0.1 192.0.0.192 192.0.2.1 192.88.99.1"),
            (false, "198.18.0.1 198.19.255.255 198.51.100.7 203.0.113.7"),
            (false, "224.0.0.1 239.255.255.255 240.0.0.1 255.255.255.255"),
            (false, "::1 :: fd00::1 fc00::1 fe80::1 fec0::1 ff02::1 ff0e::1 100::1"),
            (false, "::ffff:127.0.0.1 ::ffff:10.0.0.1 ::ffff:169.254.169.254 ::127.0.0.1"),
            (false, "64:ff9b::7f00:1 64:ff9b::a00:1 64:ff9b::a9fe:a9fe 64:ff9b:1::808:808"),
            // 6to4 and Teredo can reach any IPv4 address, whatever they seem to hold.
            (false, "2002:7f00:1:: 2002:a00:1:: 2002:808:808:: 2001::7f00:1 2001:0:1:2::808"),
            (false, "2001:db8::1 2001:10::1 2001:20::1 2001:2::1 3fff::1 4000::1 5f00::1"),
        ];
        for (expected, addresses) in table {
            for address in addresses.split(' ') {
                assert_eq!(is_public(address.parse().unwrap()), expected, "{address}");
            }
        }
    }
}
