//! A quota for mails that anybody can trigger: one address gets a limited number, counted over all kinds of
//! mail and all senders. The count is in the database, so it holds for all nodes, and changes in the
//! transaction that queues the mail.

use std::time::Duration;

use crate::auth::keys::hash;
use crate::error::Result;
use crate::features::auth::store;
use crate::jobs::{self, Job};
use crate::rate_limits::Limiter;
use crate::state::App;
use crate::values::ids::{JobId, ProjectId, new_id};
use crate::values::time::Timestamp;

const SHORT: Duration = Duration::from_secs(10 * 60);
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// How many mails an address gets in ten minutes, and in a day.
#[derive(Debug, Clone, Copy)]
struct Quota {
    short: usize,
    day: usize,
}

impl Quota {
    /// Multiplied by the operator's setting; none when limits are off.
    fn of(limiter: &Limiter) -> Option<Self> {
        let scaled = |max| limiter.scaled(max).and_then(|max| usize::try_from(max).ok());
        Some(Quota { short: scaled(3)?, day: scaled(10)? })
    }

    /// The send times to store if one more mail is sent now; none if that would exceed the quota.
    fn admit(self, sent: &[Timestamp], now: Timestamp) -> Option<Vec<Timestamp>> {
        let since = |age| sent.iter().copied().filter(move |at| *at > now.minus(age));
        let mut of_a_day: Vec<Timestamp> = since(DAY).collect();
        if since(SHORT).count() >= self.short || of_a_day.len() >= self.day {
            return None;
        }
        of_a_day.push(now);
        Some(of_a_day)
    }
}

/// Queues a mail to this address unless its quota is used up. The caller does not learn which: the reply must
/// not reveal other people's requests. Both cases write, so both wait for the disk.
pub(crate) async fn enqueue<J: Job>(
    app: &App,
    project: ProjectId,
    address: &str,
    job: J,
    now: Timestamp,
) -> Result<()> {
    let Some(quota) = Quota::of(&app.limiter) else {
        return jobs::enqueue(app, project, job, now).await;
    };
    let id = JobId(new_id(now, &app.random));
    let payload = jobs::payload(&job)?;
    let address = hash(&address.trim().to_lowercase());
    let queued = app.db.write(move |tx| {
        let expires = now.plus(DAY);
        let sent = store::lock_mail_quota(tx, project, &address, expires)?;
        match quota.admit(&sent, now) {
            Some(sent) => {
                store::set_mail_quota(tx, project, &address, &sent, expires)?;
                jobs::store::insert(tx, project, id, &payload, now, now)
            }
            None => Ok(()),
        }
    });
    queued.await
}

#[cfg(test)]
mod tests {
    use super::*;

    const QUOTA: Quota = Quota { short: 3, day: 10 };

    fn at(minute: u64) -> Timestamp {
        Timestamp::from_millis(1_785_542_400_000).plus(Duration::from_secs(minute * 60))
    }

    #[test]
    fn windows_slide() {
        let mut sent = Vec::new();
        let mut times = Vec::new();
        for minute in 0..60 {
            if let Some(admitted) = QUOTA.admit(&sent, at(minute)) {
                sent = admitted;
                times.push(minute);
            }
        }
        assert_eq!(times, [0, 1, 2, 10, 11, 12, 20, 21, 22, 30]);
        assert!(QUOTA.admit(&sent, at(24 * 60 - 1)).is_none());
        let next_day = QUOTA.admit(&sent, at(24 * 60)).unwrap();
        assert_eq!(next_day.len(), 10, "the first is forgotten");
    }
}
