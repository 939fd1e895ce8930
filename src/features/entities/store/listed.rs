//! Entities as lists show them: with the flag of the space that each is in.

use super::entity_columns;
use crate::features::entities::row::EntityRow;
use crate::features::reactions::reaction_columns;
use crate::features::users::store::authored::Written;
use crate::features::visibility::moderation::moderation_columns;

db::row! {
    #[derive(Debug, Clone, PartialEq)]
    pub struct ListedRow {
        pub entity: EntityRow,
        /// None outside of spaces.
        pub is_in_nsfw_space: Option<bool>,
    }
}

impl Written for ListedRow {
    const NAME: &'static str = "entities::list::page";
    const SELECTED: &'static str =
        concat!(entity_columns!(), ", p.nsfw_effective AS is_in_nsfw_space");
    const ALIAS: &'static str = "e";
    const FROM: &'static str = "entities e
            JOIN entity_bodies b ON b.project_id = e.project_id AND b.id = e.id
            LEFT JOIN spaces p ON p.project_id = e.project_id AND p.id = e.space_id
                AND p.deleted_at IS NULL";
    const IS_LIVE: &'static str = "e.deleted_at IS NULL";
}
