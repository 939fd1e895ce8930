//! `townhall user …`

use clap::Subcommand;
use serde_json::json;

use crate::auth::store::suspensions::{self, NewSuspension};
use crate::auth::tokens::Tokens;
use crate::cli::{Admin, CommandResult, Output, project_id, user_id, user_records};
use crate::domain_events::Context;
use crate::features::auth::session::{self, TokenSeed, refresh_token};
use crate::features::moderation::{Moderator, decisions};
use crate::features::users::{NOT_FOUND, store};
use crate::tenancy::{self, registry};
use crate::values::ids::{ProjectId, SuspensionId, UserId, new_id};
use crate::values::time::Timestamp;

#[derive(Debug, Subcommand)]
pub(super) enum UserCommand {
    /// List users by age, page by page
    List(user_records::ListArgs),
    /// Find users by e-mail address, username, id or foreign id
    Find(user_records::FindArgs),
    /// Show a user: profile, suspensions, number of sessions
    Show {
        #[command(flatten)]
        who: Who,
    },
    /// List or end the sessions of a user
    Sessions(user_records::SessionsArgs),
    /// Write everything of a user into an archive (tar.gz)
    Export(user_records::ExportArgs),
    /// Delete a user and everything that is theirs alone
    Delete(user_records::DeleteArgs),
    /// The same, with a receipt for the user
    Erase(user_records::DeleteArgs),
    /// Start a session for a user and print its tokens, for tests and support
    Token {
        #[command(flatten)]
        who: Who,
    },
    /// Keep a user from writing, with a statement of reasons; takes effect with the moderation bundle
    Suspend {
        #[command(flatten)]
        who: Who,
        #[arg(long)]
        reason: Option<String>,
        /// ISO 8601; without it the suspension lasts until it is lifted
        #[arg(long, value_name = "TIME")]
        until: Option<String>,
    },
    /// End all suspensions of a user
    Unsuspend {
        #[command(flatten)]
        who: Who,
    },
}

#[derive(Debug, Clone, Copy, clap::Args)]
pub(super) struct Who {
    #[arg(long, value_parser = project_id, value_name = "ID")]
    pub(super) project: ProjectId,
    #[arg(long, value_parser = user_id, value_name = "USER_ID")]
    pub(super) user: UserId,
}

pub(super) fn run(command: UserCommand, admin: Admin) -> CommandResult {
    match command {
        UserCommand::List(args) => user_records::list(&args, &admin),
        UserCommand::Find(args) => user_records::find(&args, &admin),
        UserCommand::Show { who } => user_records::show(who, &admin),
        UserCommand::Sessions(args) => user_records::sessions(&args, &admin),
        UserCommand::Export(args) => user_records::export(&args, &admin),
        UserCommand::Delete(args) => user_records::delete(&args, &admin),
        UserCommand::Erase(args) => user_records::erase_with_receipt(&args, &admin),
        UserCommand::Token { who } => token(&admin, who),
        UserCommand::Suspend { who, reason, until } => suspend(&admin, who, reason, until),
        UserCommand::Unsuspend { who } => {
            let now = admin.world.clock.now();
            let lifted = admin.write(move |tx| {
                store::find(tx, who.project, who.user)?.ok_or(NOT_FOUND)?;
                suspensions::lift(tx, who.project, who.user, now)
            })?;
            Ok(Output::new(format!("{lifted} lifted\n"), json!({ "lifted": lifted })))
        }
    }
}

fn token(admin: &Admin, who: Who) -> CommandResult {
    let now = admin.world.clock.now();
    let secret = admin.secret()?;
    let (access_ttl, refresh_ttl) = (admin.config.access_token_ttl, admin.config.refresh_token_ttl);
    let tokens = Tokens::new(&secret, access_ttl, refresh_ttl);
    let seed = TokenSeed::draw(&tokens, &admin.world.random, now);
    let token = admin.write(move |tx| {
        store::find(tx, who.project, who.user)?.ok_or(NOT_FOUND)?;
        session::open(tx, who.project, who.user, seed)
    })?;
    let access = tokens.access(who.project, who.user, token.family_id, now);
    let refresh = refresh_token(&tokens, who.project, &token);
    let text = format!("access token   {access}\nrefresh token  {refresh}\n");
    Ok(Output::new(text, json!({ "accessToken": access, "refreshToken": refresh })))
}

fn suspend(
    admin: &Admin,
    who: Who,
    reason: Option<String>,
    until: Option<String>,
) -> CommandResult {
    let now = admin.world.clock.now();
    let parse = |text: String| {
        Timestamp::parse(&text).ok_or_else(|| format!("`{text}` is no ISO 8601 time"))
    };
    let end_date = until.map(parse).transpose()?;
    let new = NewSuspension {
        id: SuspensionId(new_id(now, &admin.world.random)),
        user: who.user,
        reason,
        end_date,
        created_by: "operator",
    };
    let id = new.id;
    let app = admin.app()?;
    let by = Moderator { operator: None, name: "command line".to_owned() };
    admin.write(move |tx| {
        let project = registry::load(tx, who.project)?.ok_or(tenancy::NOT_FOUND)?;
        let context = Context { app: &app, project: &project, now };
        decisions::suspend_now(tx, context, &by, &new)
    })?;
    let json = json!({ "suspensionId": id, "endDate": end_date });
    Ok(Output::new(format!("user {} is suspended\n", who.user), json))
}
