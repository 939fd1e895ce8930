//! Scheduled backups: how often, where to, and how many stay.

use std::time::Duration;

use super::Config;
use super::parse::{duration, positive};
use super::source::Sources;
use crate::storage;

#[derive(Debug, Clone)]
pub struct BackupSchedule {
    pub every: Duration,
    /// A directory or `s3://<bucket>/<prefix>`.
    pub to: String,
    /// All of them, if it is not set.
    pub keep: Option<usize>,
}

impl BackupSchedule {
    pub(super) fn read(from: &mut Sources<'_>) -> Result<Option<Self>, String> {
        let every = from.parse("backup_every", "", |text| match text {
            "" => Ok(None),
            text => duration(text).map(Some),
        })?;
        let to = from.optional("backup_to")?;
        let keep = from.parse("backup_keep", "", |text| match text {
            "" => Ok(None),
            text => positive(text).map(Some),
        })?;
        match (every, to) {
            (Some(every), Some(to)) => Ok(Some(BackupSchedule { every, to, keep })),
            (Some(_), None) => Err("TOWNHALL_BACKUP_EVERY needs a TOWNHALL_BACKUP_TO".to_owned()),
            (None, Some(_)) => Err("TOWNHALL_BACKUP_TO needs a TOWNHALL_BACKUP_EVERY".to_owned()),
            (None, None) if keep.is_some() => {
                Err("TOWNHALL_BACKUP_KEEP needs a TOWNHALL_BACKUP_EVERY".to_owned())
            }
            (None, None) => Ok(None),
        }
    }

    /// The bucket, with the same variables as for stored files; none if backups go to a directory.
    pub fn bucket_settings<'a>(&'a self, config: &'a Config) -> Option<storage::Settings<'a>> {
        let settings = storage::Settings { address: &self.to, ..config.storage_settings() };
        self.to.starts_with("s3://").then_some(settings)
    }
}

#[cfg(test)]
mod tests {
    use crate::config::tests::load;

    const EVERY: (&str, &str) = ("TOWNHALL_BACKUP_EVERY", "24h");
    const TO: (&str, &str) = ("TOWNHALL_BACKUP_TO", "/backups");
    const KEEP: (&str, &str) = ("TOWNHALL_BACKUP_KEEP", "7");

    #[test]
    fn a_schedule_needs_an_interval_and_a_place() {
        assert!(load(&[], &[]).unwrap().backup.is_none());
        let schedule = load(&[], &[EVERY, TO, KEEP]).unwrap().backup.unwrap();
        assert_eq!((schedule.every.as_secs(), schedule.keep), (86_400, Some(7)));
        for (given, named) in [
            (vec![EVERY], "TOWNHALL_BACKUP_TO"),
            (vec![TO], "TOWNHALL_BACKUP_EVERY"),
            (vec![KEEP], "TOWNHALL_BACKUP_EVERY"),
            (vec![("TOWNHALL_BACKUP_EVERY", "daily"), TO], "TOWNHALL_BACKUP_EVERY"),
            (vec![EVERY, TO, ("TOWNHALL_BACKUP_KEEP", "0")], "TOWNHALL_BACKUP_KEEP"),
            (vec![EVERY, ("TOWNHALL_BACKUP_TO", "s3://")], "TOWNHALL_BACKUP_TO"),
        ] {
            let error = load(&[], &given).unwrap_err();
            assert!(error.contains(named) && !error.contains("STORAGE"), "{error}");
        }
    }
}
