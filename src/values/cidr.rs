//! Blocks of addresses, as operators write them.

use std::net::IpAddr;

/// An address block such as `10.0.0.0/8`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cidr {
    network: u128,
    prefix: u32,
}

impl Cidr {
    pub fn contains(&self, address: IpAddr) -> bool {
        let mask = u128::MAX.checked_shl(128 - self.prefix).unwrap_or(0);
        (wide(address) ^ self.network) & mask == 0
    }
}

impl std::str::FromStr for Cidr {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = || format!("`{text}` is no address block such as 10.0.0.0/8");
        let (address, prefix) = text.split_once('/').unwrap_or((text, ""));
        let address: IpAddr = address.trim().parse().map_err(|_| wrong())?;
        let bits = if address.is_ipv4() { 32 } else { 128 };
        let prefix: u32 =
            if prefix.is_empty() { bits } else { prefix.parse().map_err(|_| wrong())? };
        if prefix > bits {
            return Err(wrong());
        }
        Ok(Cidr { network: wide(address), prefix: prefix + 128 - bits })
    }
}

/// Both families in one space: an IPv4 address as its mapped IPv6 form.
pub fn wide(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(v4) => v4.to_ipv6_mapped().to_bits(),
        IpAddr::V6(v6) => v6.to_bits(),
    }
}
