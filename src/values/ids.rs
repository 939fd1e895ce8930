//! Ids: UUIDs that sort by creation and pass as version 4.
//!
//! Published clients check for version 4, so the layout is that of version 7 (48 bits of milliseconds first,
//! the rest random) with the version number 4. Each noun has a type of its own, so an id of one cannot be
//! passed as an id of another.

use uuid::{Builder, Uuid};

use crate::values::random::Random;
use crate::values::time::Timestamp;

/// A new id for something created at `now`.
pub fn new_id(now: Timestamp, random: &Random) -> Uuid {
    let mut bytes: [u8; 16] = random.bytes();
    bytes[..6].copy_from_slice(&now.millis().to_be_bytes()[2..]);
    Builder::from_random_bytes(bytes).into_uuid()
}

/// The smallest id for that creation time.
pub fn first_id(time: Timestamp) -> Uuid {
    let mut bytes = [0; 16];
    bytes[..6].copy_from_slice(&time.millis().to_be_bytes()[2..]);
    Uuid::from_bytes(bytes)
}

macro_rules! typed_ids {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
        #[serde(transparent)]
        pub struct $name(pub Uuid);

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                self.0.fmt(f)
            }
        }

        impl std::str::FromStr for $name {
            type Err = &'static str;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                parse_uuid(text).map($name).ok_or("must be a UUID")
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = std::borrow::Cow::<str>::deserialize(deserializer)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }

        impl schemars::JsonSchema for $name {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }

            fn inline_schema() -> bool {
                true
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({ "type": "string", "format": "uuid" })
            }
        }

        impl db::Column for $name {
            fn from_column(value: db::ColumnRef<'_>) -> Result<Self, db::WrongType> {
                Uuid::from_column(value).map($name)
            }
        }

        impl From<$name> for db::Value<'_> {
            fn from(id: $name) -> Self {
                db::Value::Uuid(id.0)
            }
        }

        impl $name {
            /// Several ids as one argument, for `{any}`.
            pub fn list(ids: &[$name]) -> db::Value<'static> {
                db::Value::Uuids(ids.iter().map(|id| id.0).collect())
            }
        }
    )*};
}

typed_ids! {
    ProjectId;
    KeyId;
    UserId;
    /// A file of the storage feature, as users name one for an avatar or banner.
    FileId;
    SpaceId;
    /// One user's membership in one space.
    MemberId;
    SpaceBanId;
    SpaceRuleId;
    EntityId;
    CommentId;
    ConversationId;
    /// One user's place in one conversation.
    ConversationMemberId;
    ChatMessageId;
    EventId;
    /// One user's answer to one event.
    RsvpId;
    /// One user's invite to one event.
    InviteId;
    GrantId;
    ReactionId;
    ReportId;
    /// One user's entry in a report.
    ReportEntryId;
    /// Somebody who runs the installation and signs in to its pages; no user of a project.
    OperatorId;
    /// A moderator's decision.
    DecisionId;
    /// An entry in the log of a space.
    SpaceLogId;
    /// What an operator noted about a user.
    NoteId;
    /// A rule that checks what users write.
    RuleId;
    /// An author's objection to a decision.
    AppealId;
    WorkspaceId;
    /// One user's membership in one workspace.
    WorkspaceMemberId;
    WorkspaceInviteId;
    CollectionId;
    /// One entity in one collection.
    CollectionEntityId;
    /// A session: one sign-in on one device, and the family of its refresh tokens.
    SessionId;
    RefreshTokenId;
    IdentityId;
    SuspensionId;
    VerificationId;
    NotificationId;
    /// One user's binding of one device.
    PushDeviceId;
    /// A record of any kind that is searched.
    RecordId;
    /// What one user wrote about one thing.
    FacetId;
    BlockId;
    FollowId;
    ConnectionId;
    JobId;
    /// Jobs that run one after another.
    QueueId;
    /// A custom table of a project.
    TableId;
    /// A row of such a table.
    RowId;
    OperatorSessionId;
    OperatorInvitationId;
    OperatorPasskeyId;
    AuditEntryId;
}

/// The hyphenated form only, in either case: other spellings of a UUID are refused.
pub fn parse_uuid(text: &str) -> Option<Uuid> {
    (text.len() == 36).then(|| Uuid::try_parse(text).ok()).flatten()
}

const BASE_58: &[u8; 58] = b"123456789abcdefghijkmnopqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ";
const SHORT_LENGTH: usize = 22;

/// A short id: its value in base 58, always 22 characters.
pub fn short_id(id: Uuid) -> String {
    /// Ten digits fit into 64 bits, which divide many times faster than 128.
    const TEN_DIGITS: u128 = 58_u128.pow(10);
    let mut digits = [b'1'; SHORT_LENGTH];
    let mut rest = id.as_u128();
    for ten in digits.rchunks_mut(10) {
        let mut low = u64::try_from(rest % TEN_DIGITS).unwrap_or_default();
        rest /= TEN_DIGITS;
        for digit in ten.iter_mut().rev() {
            // The remainder is below 58.
            *digit = BASE_58[usize::try_from(low % 58).unwrap_or_default()];
            low /= 58;
        }
    }
    std::str::from_utf8(&digits).unwrap_or_default().to_owned()
}

/// The id of a short id; none if it is invalid.
pub fn from_short_id(text: &str) -> Option<Uuid> {
    if text.len() != SHORT_LENGTH {
        return None;
    }
    let value = text.bytes().try_fold(0_u128, |value, byte| {
        let digit = BASE_58.iter().position(|known| *known == byte)?;
        value.checked_mul(58)?.checked_add(u128::try_from(digit).ok()?)
    });
    value.map(Uuid::from_u128)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_pass_as_version_four_and_sort_by_time() {
        let random = Random::seeded(3);
        let earlier = new_id(Timestamp::from_millis(1_785_542_400_000), &random);
        let later = new_id(Timestamp::from_millis(1_785_542_400_001), &random);
        assert_eq!(earlier.get_version_num(), 4);
        assert!(matches!(earlier.to_string().as_bytes()[19], b'8' | b'9' | b'a' | b'b'));
        assert!(earlier < later);
    }

    #[test]
    fn only_the_hyphenated_form_is_an_id() {
        let id = "0198f0a1-0000-4abc-8abc-0123456789ab";
        assert!(id.parse::<UserId>().is_ok());
        assert_eq!(id.to_uppercase().parse::<UserId>().unwrap().to_string(), id);
        let braced = format!("{{{id}}}");
        for other in ["", "x", &id.replace('-', ""), braced.as_str(), "me"] {
            assert!(other.parse::<UserId>().is_err(), "{other}");
        }
    }

    #[test]
    fn short_ids_are_base_58_and_lead_back() {
        let id: Uuid = "a44521d0-0fb8-4ade-8002-3385545c3318".parse().unwrap();
        assert_eq!(short_id(id), "mhvXdrZT4jP5T8vBxuvm75");
        for id in [id, Uuid::nil(), Uuid::max()] {
            assert_eq!(from_short_id(&short_id(id)), Some(id));
        }
        let too_much = "Z".repeat(22);
        for other in ["", "mhvXdrZT4jP5T8vBxuvm7", "0hvXdrZT4jP5T8vBxuvm75", &too_much] {
            assert_eq!(from_short_id(other), None, "{other}");
        }
    }
}
