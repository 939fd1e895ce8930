//! Work that outlives its request. A job is a row, done by a worker at least once; one that fails
//! is tried again later, with growing patience.

pub mod store;
mod worker;

pub use worker::{run_due, work};

use serde::{Deserialize, Serialize};

use crate::app::App;
use crate::error::{Error, Result};
use crate::features::auth::mails::{self, Verification};
use crate::features::auth::verify_email::{Mode, TokenFormat};
use crate::features::chat::conversations;
use crate::features::comments::marking::{self, Marking};
use crate::features::comments::removal;
use crate::features::spaces;
use crate::features::storage::uploads;
use crate::ids::{ConversationId, EntityId, JobId, ProjectId, SpaceId, UserId, new_id};
use crate::time::Timestamp;

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub(crate) enum Job {
    PasswordReset {
        email: String,
        version: String,
    },
    EmailVerification {
        user: UserId,
        version: String,
        mode: Mode,
        format: TokenFormat,
        length: usize,
        redirect: Option<String>,
    },
    DeletionCode {
        user: UserId,
    },
    /// Everything in these directories of the project.
    RemoveFiles {
        directories: Vec<String>,
    },
    /// The answers below a deleted comment, as far as they are not marked yet.
    MarkAnswers(Marking),
    /// The comments of a deleted entity.
    RemoveComments {
        entity: EntityId,
    },
    /// The deleted spaces at and below this one, with all that is in them.
    RemoveSpaces {
        root: SpaceId,
    },
    /// What was written in a deleted conversation.
    RemoveConversation {
        conversation: ConversationId,
    },
    /// What a deleted user wrote is no longer in the database, but still in its log.
    EmptyDatabaseLog,
}

impl Job {
    async fn run(self, app: &App, project: ProjectId) -> Result<()> {
        match self {
            Job::PasswordReset { email, version } => {
                mails::password_reset(app, project, email, &version).await
            }
            Job::EmailVerification { user, version, mode, format, length, redirect } => {
                let (version, redirect) = (version.as_str(), redirect.as_deref());
                let wanted = Verification { user, version, mode, format, length, redirect };
                mails::verification(app, project, wanted).await
            }
            Job::DeletionCode { user } => mails::deletion_code(app, project, user).await,
            Job::RemoveFiles { directories } => uploads::remove(app, project, &directories).await,
            Job::MarkAnswers(marking) => marking::finish(app, project, marking).await,
            Job::RemoveComments { entity } => removal::run(app, project, entity).await,
            Job::RemoveSpaces { root } => spaces::delete::run(app, project, root).await,
            Job::RemoveConversation { conversation } => {
                conversations::removal::run(app, project, conversation).await
            }
            Job::EmptyDatabaseLog => app.db.empty_log().await.map_err(Error::from),
        }
    }
}

/// Enqueues a job that is all its request has to write.
pub(crate) async fn enqueue(app: &App, project: ProjectId, job: Job, now: Timestamp) -> Result<()> {
    let id = JobId(new_id(now, &app.random));
    let payload = serde_json::to_string(&job).map_err(Error::internal)?;
    app.db.write(move |tx| store::insert(tx, project, id, &payload, now, now)).await?;
    app.job_added.notify_one();
    Ok(())
}
