//! Screening: rules of the project look at what somebody writes, in the transaction that stores it. They may open a
//! report or hide the content; who stores it hides it as they say. The rules are above, in `features/moderation`.

use db::Tx;
use uuid::Uuid;

use crate::domain_events::Context;
use crate::error::Result;
use crate::features::visibility::moderation::ModerationRow;
use crate::values::ids::{SpaceId, UserId};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ContentKind {
    Entity,
    Comment,
    Message,
}

/// What somebody writes.
#[derive(Debug, Clone, Copy)]
pub struct Written<'a> {
    pub kind: ContentKind,
    pub id: Uuid,
    pub author: Option<UserId>,
    pub space: Option<SpaceId>,
    pub title: Option<&'a str>,
    pub content: Option<&'a str>,
    /// It was there before.
    pub is_edit: bool,
}

pub trait Screen: Send + Sync {
    /// How the content is hidden, if it is.
    fn screen(
        &self,
        tx: &Tx<'_>,
        context: Context<'_>,
        written: &Written<'_>,
    ) -> Result<Option<ModerationRow>>;
}

/// Asks the rules of the project, if it has ever had any.
pub fn screen(
    tx: &Tx<'_>,
    context: Context<'_>,
    written: &Written<'_>,
) -> Result<Option<ModerationRow>> {
    if context.project.rules_version == 0 {
        return Ok(None);
    }
    for screen in context.app.lists.of::<&'static dyn Screen>() {
        let hidden = screen.screen(tx, context, written)?;
        if hidden.is_some() {
            return Ok(hidden);
        }
    }
    Ok(None)
}
