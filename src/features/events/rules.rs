//! Validation of events. Each field is a type that can only be built from a valid value, so that creation and updates,
//! from JSON and from forms, all apply the same rule; what depends on several fields is checked on the whole event.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::{Fault, Result};
use crate::features::events::store::EventRow;
use crate::features::events::{CANCELLED, FULL, INVALID_BODY, MAYBE_DISABLED, RSVP_CLOSED};
use crate::values::ids::UserId;
use crate::values::names::names;
use crate::values::texts::texts;
use crate::values::time::Timestamp;

names! {
    #[schemars(rename = "EventType")]
    Kind {
        Online "online",
        Physical "physical",
        Hybrid "hybrid",
    }
    /// Who sees it. Hosts and keys always do.
    #[schemars(rename = "EventVisibility")]
    Visibility {
        Public "public",
        Members "members",
        Invite "invite",
    }
    #[schemars(rename = "EventStatus")]
    Status {
        Active "active",
        Cancelled "cancelled",
    }
    #[schemars(rename = "RsvpStatus")]
    Rsvp {
        Going "going",
        Maybe "maybe",
        NotGoing "not_going",
    }
}

impl Kind {
    pub const ALL: [Kind; 3] = [Kind::Online, Kind::Physical, Kind::Hybrid];
}

impl Visibility {
    pub const ALL: [Visibility; 3] = [Visibility::Public, Visibility::Members, Visibility::Invite];
}

impl Rsvp {
    pub const ALL: [Rsvp; 3] = [Rsvp::Going, Rsvp::Maybe, Rsvp::NotGoing];
}

texts! {
    Title 1..=300;
    Description 0..=100_000;
    Url 0..=2048;
    VenueName 0..=500;
    Address 0..=1000;
}

/// A name of the IANA time zone database, or an empty text for none.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(try_from = "String")]
#[schemars(inline)]
pub struct Timezone(String);

impl Timezone {
    pub fn unless_blank(self) -> Option<String> {
        Some(self.0).filter(|name| !name.is_empty())
    }
}

impl TryFrom<String> for Timezone {
    type Error = &'static str;

    fn try_from(name: String) -> Result<Self, Self::Error> {
        if name.is_empty() {
            return Ok(Timezone(name));
        }
        // Spelt as the database does, whatever the case it was sent in.
        let known = jiff::tz::TimeZone::get(&name).ok();
        let known = known.and_then(|zone| zone.iana_name().map(ToOwned::to_owned));
        known.map(Timezone).ok_or("must be an IANA time zone, such as Europe/Paris")
    }
}

/// How many may go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(try_from = "i64")]
#[schemars(inline, extend("minimum" = 1))]
pub struct Capacity(i64);

impl Capacity {
    pub fn places(self) -> i64 {
        self.0
    }
}

impl TryFrom<i64> for Capacity {
    type Error = &'static str;

    fn try_from(places: i64) -> Result<Self, Self::Error> {
        if places > 0 { Ok(Capacity(places)) } else { Err("must be a positive integer") }
    }
}

/// Further hosts of a new event.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(try_from = "Vec<UserId>")]
#[schemars(inline, extend("maxItems" = HostIds::MAX_ENTRIES))]
pub struct HostIds(Vec<UserId>);

impl HostIds {
    pub const MAX_ENTRIES: usize = 100;

    /// The creator first, each once.
    pub fn with_creator(self, creator: UserId) -> Vec<UserId> {
        let mut hosts = vec![creator];
        for host in self.0 {
            if !hosts.contains(&host) {
                hosts.push(host);
            }
        }
        hosts
    }
}

impl TryFrom<Vec<UserId>> for HostIds {
    type Error = &'static str;

    fn try_from(ids: Vec<UserId>) -> Result<Self, Self::Error> {
        if ids.len() <= HostIds::MAX_ENTRIES {
            Ok(HostIds(ids))
        } else {
            Err("must be at most 100 ids")
        }
    }
}

/// How many answered what.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RsvpCounts {
    pub going: i64,
    pub maybe: i64,
    pub not_going: i64,
}

impl RsvpCounts {
    pub fn of(self, status: Rsvp) -> i64 {
        match status {
            Rsvp::Going => self.going,
            Rsvp::Maybe => self.maybe,
            Rsvp::NotGoing => self.not_going,
        }
    }

    pub fn add(&mut self, status: Option<Rsvp>, by: i64) {
        match status {
            Some(Rsvp::Going) => self.going += by,
            Some(Rsvp::Maybe) => self.maybe += by,
            Some(Rsvp::NotGoing) => self.not_going += by,
            None => {}
        }
    }
}

/// Where people meet fits the type of the event.
pub fn check_place(row: &EventRow) -> Result<()> {
    let has_place = row.address.is_some() || row.latitude.is_some();
    let wants = |online: bool, place: bool| (!online || row.url.is_some()) && (!place || has_place);
    let (fits, why) = match row.kind {
        Kind::Online => (wants(true, false), "an online event needs url"),
        Kind::Physical => (wants(false, true), "a physical event needs address or location"),
        Kind::Hybrid => (wants(true, true), "a hybrid event needs url, and address or location"),
    };
    if fits { Ok(()) } else { Err(INVALID_BODY.because(why)) }
}

/// It does not end before it starts, and what only members see has members.
pub fn check_frame(row: &EventRow) -> Result<()> {
    if row.end_time.is_some_and(|end| end < row.start_time) {
        return Err(INVALID_BODY.because("endTime: must not be before startTime"));
    }
    if row.visibility == Visibility::Members && row.space_id.is_none() {
        return Err(INVALID_BODY.because("visibility: `members` needs spaceId"));
    }
    Ok(())
}

/// Whether a user may answer so now, whatever they answered before.
pub fn may_answer(row: &EventRow, status: Rsvp, now: Timestamp) -> Result<()> {
    let refusals: [(bool, Fault); 3] = [
        (row.status == Status::Cancelled, CANCELLED),
        (now >= row.start_time, RSVP_CLOSED),
        (status == Rsvp::Maybe && !row.allow_maybe, MAYBE_DISABLED),
    ];
    match refusals.into_iter().find(|(refused, _)| *refused) {
        Some((_, fault)) => Err(fault.into()),
        None => Ok(()),
    }
}

/// Whether one more may go.
pub fn has_room(row: &EventRow, status: Rsvp) -> Result<()> {
    match row.capacity {
        Some(places) if status == Rsvp::Going && row.counts.going >= places => Err(FULL.into()),
        _ => Ok(()),
    }
}

/// Two to this power are the milliseconds of the shortest class: about a minute.
const SHORTEST: u32 = 16;
/// Lengths go up to 2 to the power of 49 milliseconds, more than ten thousand years.
pub const LENGTH_CLASSES: i64 = 34;

/// The longest event of a class, in milliseconds. An event lasts longer than the longest of the class below.
pub const fn longest_of(class: i64) -> i64 {
    1 << (class + SHORTEST as i64)
}

/// The class of an event's length; none without an end.
pub fn length_class(start: Timestamp, end: Option<Timestamp>) -> Option<i64> {
    let length = end?.millis().saturating_sub(start.millis()).max(0);
    Some(
        (0..LENGTH_CLASSES)
            .find(|class| length <= longest_of(*class))
            .unwrap_or(LENGTH_CLASSES - 1),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_have_classes_up_to_the_longest_possible_event() {
        let class = |length: i64| {
            length_class(Timestamp::from_millis(0), Some(Timestamp::from_millis(length)))
        };
        assert_eq!(length_class(Timestamp::from_millis(0), None), None);
        assert_eq!((class(0), class(65_536), class(65_537)), (Some(0), Some(0), Some(1)));
        let all = Timestamp::parse("9999-12-31T23:59:59.999Z").unwrap().millis()
            - Timestamp::parse("0000-01-01").unwrap().millis();
        assert_eq!(class(all), Some(LENGTH_CLASSES - 1));
        assert!(all <= longest_of(LENGTH_CLASSES - 1));
    }

    #[test]
    fn time_zones_are_those_of_the_database() {
        let zone = |name: &str| Timezone::try_from(name.to_owned()).map(|zone| zone.0);
        assert_eq!(zone("europe/paris").as_deref(), Ok("Europe/Paris"));
        assert_eq!(zone("UTC").as_deref(), Ok("UTC"));
        assert!(zone("Europe/Atlantis").is_err() && zone("../etc/passwd").is_err());
    }

    #[test]
    fn the_creator_is_the_first_host_and_nobody_is_one_twice() {
        let [a, b] = [1_u128, 2].map(|n| UserId(uuid::Uuid::from_u128(n)));
        assert_eq!(HostIds(vec![b, a, b]).with_creator(a), [a, b]);
    }
}
