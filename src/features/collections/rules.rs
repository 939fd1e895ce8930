//! Validation of names, the maximum depth, and which saved entities are shown.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::features::entities::store::EntityRow;
use crate::values::ids::UserId;

/// The root is at 0.
pub const DEEPEST: i64 = 50;
pub const ROOT_NAME: &str = "root";

/// 1 to 255 characters, trimmed.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(try_from = "String")]
#[schemars(inline, extend("minLength" = 1, "maxLength" = 255))]
pub struct Name(String);

impl Name {
    pub fn into_text(self) -> String {
        self.0
    }
}

impl TryFrom<String> for Name {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let name = text.trim();
        if (1..=255).contains(&name.chars().count()) {
            Ok(Name(name.to_owned()))
        } else {
            Err("must have 1 to 255 characters")
        }
    }
}

/// Whether the owner of a collection sees a saved entity: not if a moderator removed it or it was anonymized,
/// nor another user's draft. `store/links.rs` says the same in SQL.
pub fn is_shown(entity: &EntityRow, owner: UserId) -> bool {
    let is_own_draft = entity.is_draft && entity.user_id == Some(owner);
    entity.is_listed || (is_own_draft && !entity.is_removed())
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;
    use crate::features::visibility::moderation::ModerationRow;
    use crate::values::ids::EntityId;
    use crate::values::time::Timestamp;

    #[test]
    fn names_are_trimmed_and_bounded_in_characters() {
        let name = |text: &str| Name::try_from(text.to_owned()).map(Name::into_text);
        assert_eq!(name(" To read "), Ok("To read".to_owned()));
        assert!(name(&"é".repeat(255)).is_ok());
        for wrong in ["", " \t\n", &"é".repeat(256)] {
            assert!(name(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn only_own_drafts_and_nothing_removed_is_shown() {
        let (owner, other) = (UserId(Uuid::from_u128(1)), UserId(Uuid::from_u128(2)));
        let blank = EntityRow::blank(EntityId(Uuid::nil()), Timestamp::from_millis(0));
        let draft =
            |user| EntityRow { is_draft: true, is_listed: false, user_id: user, ..blank.clone() };
        let removed = |row: EntityRow| {
            let moderation_status = Some("removed".to_owned());
            let moderation = ModerationRow { moderation_status, ..ModerationRow::default() };
            EntityRow { is_listed: false, moderation, ..row }
        };
        assert!(is_shown(&blank, owner) && is_shown(&draft(Some(owner)), owner));
        for hidden in
            [draft(Some(other)), draft(None), removed(blank.clone()), removed(draft(Some(owner)))]
        {
            assert!(!is_shown(&hidden, owner), "{hidden:?}");
        }
    }
}
