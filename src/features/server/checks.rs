//! Whether everything is as it should be: the checks that cost next to nothing. `townhall doctor` has them among its own,
//! and the admin shows what they find.

use db::Conn;

use crate::config::{BackupSchedule, Config, free_space, is_writable};
use crate::error::{Error, Result};
use crate::installation::store as installation;
use crate::jobs;
use crate::metrics::JobState;
use crate::network::forwarding;
use crate::state::App;
use crate::tenancy::store as projects;
use crate::values::time::Timestamp;

/// What is fine, or what is wrong.
pub type Finding = Result<String, String>;

/// Below this much free space the operator should act.
const LITTLE_SPACE: u64 = 1 << 30;

pub fn data_directory(config: &Config) -> Finding {
    let directory = config.data_dir.display();
    if is_writable(&config.data_dir) {
        Ok(format!("{directory} is writable"))
    } else {
        Err(format!("{directory} is missing or not writable"))
    }
}

pub fn disk(config: &Config) -> Finding {
    let free = free_space(&config.data_dir).map_err(|error| error.to_string())?;
    let text = format!("{} MiB free", free >> 20);
    if free < LITTLE_SPACE { Err(text) } else { Ok(text) }
}

/// Anybody can send such headers, so they are worth a remark and are no failure.
pub fn proxy(config: &Config) -> Finding {
    Ok(match forwarding::untrusted_proxy(&config.data_dir) {
        Some(peer) => format!(
            "{peer} sends forwarding headers: if it is your proxy, name it in TOWNHALL_TRUSTED_PROXIES"
        ),
        None => "no forwarding headers from a peer that is not trusted".to_owned(),
    })
}

/// A clock that was set back shows in rows that come from the future.
pub fn clock(newest: Option<Timestamp>, now: Timestamp) -> Finding {
    match newest {
        Some(newest) if newest > now => {
            Err(format!("it is {now}, but the database holds something from {newest}"))
        }
        _ => Ok(now.to_string()),
    }
}

/// Twice the interval: one may just be under way.
pub fn backups(schedule: &BackupSchedule, last: Option<Timestamp>, now: Timestamp) -> Finding {
    match last {
        None => Err("none has succeeded yet".to_owned()),
        Some(last) if last.plus(2 * schedule.every) < now => {
            Err(format!("the last one that succeeded is of {last}"))
        }
        Some(last) => Ok(format!("the last one is of {last}, in {}", schedule.to)),
    }
}

/// What a running server can say of itself.
#[derive(Debug)]
pub struct Health {
    pub findings: Vec<(&'static str, Finding)>,
    /// The last backup on schedule, which was verified when it was made.
    pub last_backup: Option<Timestamp>,
    /// How many jobs wait, how long the first of them has been due in seconds, and how many were given up within a day.
    pub jobs: Option<(i64, f64, i64)>,
}

pub async fn health(app: &App) -> Result<Health> {
    let now = app.clock.now();
    let read = |c: &Conn<'_>| Ok::<_, Error>((installation::last_backup(c)?, projects::newest(c)?));
    let (last_backup, newest) = app.db.read(read).await?;
    let jobs = jobs::figures::backlog(app).await.map(|backlog| {
        let count = |failed: bool| {
            let of_state = backlog.iter().filter(|one| (one.state == JobState::Failed) == failed);
            of_state.map(|one| one.jobs).sum()
        };
        let overdue = backlog.iter().map(|one| one.overdue).fold(0.0, f64::max);
        (count(false), overdue, count(true))
    });
    let (data, config) = (app.clone(), &app.config);
    let of_files = tokio::task::spawn_blocking(move || {
        [
            ("data directory", data_directory as fn(&Config) -> Finding),
            ("disk", disk),
            ("proxy", proxy),
        ]
        .map(|(name, check)| (name, check(&data.config)))
    });
    let mut findings = of_files.await.map_err(Error::internal)?.to_vec();
    findings.push(("clock", clock(newest, now)));
    findings.push(match &config.backup {
        Some(schedule) => ("backups", backups(schedule, last_backup, now)),
        None => ("backups", Err("there is no schedule: TOWNHALL_BACKUP_EVERY".to_owned())),
    });
    findings.push((
        "public address",
        match config.lacks_public_url() {
            true => Err("links in mails lead nowhere: set TOWNHALL_PUBLIC_URL".to_owned()),
            false => Ok(config.public_url.clone()),
        },
    ));
    findings.push((
        "jobs",
        match jobs {
            None => Err("the database does not answer in time".to_owned()),
            Some((_, _, given_up)) if given_up > 0 => {
                Err(format!("{given_up} were given up within the last day"))
            }
            Some((waiting, _, _)) => Ok(format!("{waiting} wait")),
        },
    ));
    Ok(Health { findings, last_backup, jobs })
}
