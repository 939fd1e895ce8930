//! Who may enter the room of a conversation and be seen typing in it. The realtime layer asks; the feature
//! that knows conversations answers here.

use std::future::Future;
use std::pin::Pin;

use crate::app::App;
use crate::error::Result;
use crate::features::chat::standing;
use crate::ids::{ConversationId, ProjectId, UserId};

/// What a user wants to do in a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Act {
    /// Enter its room: needs an active membership.
    Enter,
    /// Be seen typing: needs a conversation that is not frozen, too.
    Type,
}

#[derive(Debug, Clone, Copy)]
pub struct Question {
    pub project: ProjectId,
    pub user: UserId,
    pub conversation: ConversationId,
    pub act: Act,
}

pub type Answer<'a> = Pin<Box<dyn Future<Output = Result<bool>> + Send + 'a>>;
/// How the question is answered; tests have their own way.
pub type Ask = for<'a> fn(&'a App, Question) -> Answer<'a>;

/// Asks the conversations of the project.
pub fn ask(app: &App, question: Question) -> Answer<'_> {
    Box::pin(async move {
        let project = app.projects.get(&app.db, question.project, app.clock.uptime()).await?;
        let Some(project) = project else { return Ok(false) };
        app.db.read(move |c| standing::may(c, &project, question)).await
    })
}
