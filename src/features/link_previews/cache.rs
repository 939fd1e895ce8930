//! A cache of previews, kept for a day. In memory and bounded: a preview can be fetched again at any time, so
//! it is not worth a table, a write for each link and a cleanup job.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::model::UrlMetadata;
use crate::values::ids::ProjectId;

const TTL: Duration = Duration::from_secs(24 * 60 * 60);
const MAX_ENTRIES: usize = 2000;
const MAX_BYTES: usize = 8 * 1024 * 1024;

/// By project, although pages are the same for all: response times must not reveal to one project what
/// another has fetched.
type Key = (ProjectId, String);

#[derive(Debug, Default)]
pub struct Cache(Mutex<Entries>);

#[derive(Debug, Default)]
struct Entries {
    by_key: HashMap<Key, Entry>,
    /// In the order of insertion, which is the order of expiry.
    order: VecDeque<(Key, Duration)>,
    bytes: usize,
}

#[derive(Debug)]
struct Entry {
    metadata: Arc<UrlMetadata>,
    bytes: usize,
    expires: Duration,
}

impl Cache {
    pub(super) fn get(
        &self,
        project: ProjectId,
        url: &str,
        now: Duration,
    ) -> Option<Arc<UrlMetadata>> {
        let entries = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let entry = entries.by_key.get(&(project, url.to_owned()))?;
        (entry.expires > now).then(|| entry.metadata.clone())
    }

    pub(super) fn put(
        &self,
        project: ProjectId,
        url: &str,
        metadata: Arc<UrlMetadata>,
        now: Duration,
    ) {
        // The length as JSON approximates the size in memory.
        let bytes = serde_json::to_vec(&*metadata).map_or(MAX_BYTES, |json| json.len()) + url.len();
        let mut entries = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (project, url.to_owned());
        let entry = Entry { metadata, bytes, expires: now + TTL };
        entries.order.push_back((key.clone(), entry.expires));
        entries.bytes += bytes;
        if let Some(replaced) = entries.by_key.insert(key, entry) {
            entries.bytes -= replaced.bytes;
        }
        entries.make_room(now);
    }
}

impl Entries {
    fn make_room(&mut self, now: Duration) {
        while let Some((key, expires)) = self.order.front() {
            let full = self.order.len() > MAX_ENTRIES || self.bytes > MAX_BYTES;
            if *expires > now && !full {
                break;
            }
            // The queue entry of a value that was replaced since: the newer value stays.
            if self.by_key.get(key).is_some_and(|entry| entry.expires == *expires)
                && let Some(gone) = self.by_key.remove(key)
            {
                self.bytes -= gone.bytes;
            }
            self.order.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOON: Duration = Duration::from_secs(43_200);

    fn titled(title: String) -> Arc<UrlMetadata> {
        Arc::new(UrlMetadata { title: Some(title), ..UrlMetadata::default() })
    }

    fn project(number: u128) -> ProjectId {
        ProjectId(uuid::Uuid::from_u128(number))
    }

    #[test]
    fn an_entry_is_kept_for_a_day_and_for_its_project() {
        let cache = Cache::default();
        cache.put(project(1), "u", titled("x".to_owned()), NOON);
        assert!(cache.get(project(1), "u", NOON + TTL - Duration::from_millis(1)).is_some());
        assert!(cache.get(project(1), "u", NOON + TTL).is_none());
        assert!(cache.get(project(2), "u", NOON).is_none());
    }

    #[test]
    fn memory_stays_bounded_by_number_and_by_size() {
        for (title, most) in [(String::new(), MAX_ENTRIES), ("x".repeat(MAX_BYTES / 10), 10)] {
            let cache = Cache::default();
            for number in 0..most + 5 {
                cache.put(project(1), &number.to_string(), titled(title.clone()), NOON);
            }
            let entries = cache.0.lock().unwrap();
            assert!(entries.by_key.len() <= most && entries.order.len() <= most);
            assert!(entries.bytes <= MAX_BYTES);
            drop(entries);
            let newest = (most + 4).to_string();
            assert!(cache.get(project(1), &newest, NOON).is_some());
        }
    }

    #[test]
    fn a_renewed_entry_outlives_its_first_place_in_line() {
        let cache = Cache::default();
        cache.put(project(1), "u", titled("old".to_owned()), NOON);
        cache.put(project(1), "u", titled("new".to_owned()), NOON + TTL / 2);
        cache.put(project(1), "v", titled("other".to_owned()), NOON + TTL);
        let kept = cache.get(project(1), "u", NOON + TTL).unwrap();
        assert_eq!(kept.title.as_deref(), Some("new"));
        let bytes: usize = cache.0.lock().unwrap().by_key.values().map(|entry| entry.bytes).sum();
        assert_eq!(cache.0.lock().unwrap().bytes, bytes);
    }
}
