//! What the texts of settings mean.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

use super::AdminListen;
use super::source::{Source, Sources};
use crate::values::cidr::Cidr;

/// `PORT`, which platforms set, replaces the port and listens on all addresses; a flag takes precedence.
pub(super) fn listen(
    from: &mut Sources<'_>,
    env: &dyn Fn(&str) -> Option<String>,
) -> Result<SocketAddr, String> {
    let listen: SocketAddr = from.parse("listen", "127.0.0.1:8484", |text| {
        text.parse().map_err(|_| "must be an address and port such as 127.0.0.1:8484".to_owned())
    })?;
    if from.is_flag("listen") {
        return Ok(listen);
    }
    let Some(port) = env("PORT") else {
        return Ok(listen);
    };
    let port = port.parse().map_err(|_| format!("PORT: `{port}` is no port"))?;
    let listen = SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), port);
    from.replace("listen", &listen.to_string(), Source::Environment("PORT".to_owned()));
    Ok(listen)
}

pub(super) fn admin_listen(text: &str) -> Result<AdminListen, String> {
    match text {
        "" => Ok(AdminListen::Same),
        "off" => Ok(AdminListen::Off),
        address => address
            .parse()
            .map(AdminListen::Own)
            .map_err(|_| "must be an address and port such as 127.0.0.1:8485, or `off`".to_owned()),
    }
}

pub(super) fn positive(text: &str) -> Result<usize, String> {
    text.parse()
        .ok()
        .filter(|n| *n > 0)
        .ok_or_else(|| "must be a whole number from 1 on".to_owned())
}

pub(super) fn switch(text: &str) -> Result<bool, String> {
    match text {
        "1" | "true" | "on" => Ok(true),
        "0" | "false" | "off" => Ok(false),
        _ => Err("must be `on` or `off`".to_owned()),
    }
}

/// `90s`, `30m`, `12h`, `30d`.
pub fn duration(text: &str) -> Result<Duration, String> {
    let wrong = || "must be a duration such as 250ms, 90s, 30m, 12h or 30d".to_owned();
    if let Some(millis) = text.strip_suffix("ms") {
        let millis = millis.parse::<u32>().ok().filter(|millis| *millis > 0).ok_or_else(wrong)?;
        return Ok(Duration::from_millis(millis.into()));
    }
    let unit = text.chars().last().ok_or_else(wrong)?;
    let seconds = match unit {
        's' => 1,
        'm' => 60,
        'h' => 3600,
        'd' => 86_400,
        _ => return Err(wrong()),
    };
    let count: u32 = text[..text.len() - 1].parse().map_err(|_| wrong())?;
    if count == 0 {
        return Err(wrong());
    }
    Ok(Duration::from_secs(u64::from(count) * seconds))
}

/// Logs are cut at the beginning of a day.
pub(super) fn audit_keep(text: &str) -> Result<Option<Duration>, String> {
    match text {
        "" => Ok(None),
        text => match duration(text)? {
            keep if keep < Duration::from_secs(86_400) => Err("must be at least 1d".to_owned()),
            keep => Ok(Some(keep)),
        },
    }
}

pub(super) fn blocks(text: &str) -> Result<Vec<Cidr>, String> {
    text.split(',').map(str::trim).filter(|block| !block.is_empty()).map(str::parse).collect()
}
