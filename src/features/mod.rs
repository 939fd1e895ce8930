//! One folder for each noun of the API. A folder's `mod.rs` says what the noun is and lists its operations;
//! `store.rs` or `store/` holds all its SQL, `rules.rs` the rules that need no database.

pub mod admin;
pub mod auth;
pub mod blocks;
pub mod chat;
pub mod collections;
pub mod comments;
pub mod connections;
pub mod crypto;
pub mod deletion;
pub mod digests;
pub mod entities;
pub mod events;
pub mod exports;
pub mod files;
pub mod follows;
pub mod grants;
pub mod identities;
pub mod link_previews;
pub mod live;
pub mod moderation;
pub mod notification_mails;
pub mod notifications;
pub mod oauth;
pub mod project_deletion;
pub mod projects;
pub mod push;
pub mod reactions;
pub mod search;
pub mod server;
pub mod spaces;
pub mod tables;
pub mod users;
pub mod visibility;
pub mod webhooks;
pub mod workspaces;

use std::sync::LazyLock;

use self::entities::extras::EntityExtras;
use self::files::holders::FileHolder;
use self::grants::targets::GrantTarget;
use self::spaces::observer::SpaceObserver;
use self::visibility::restrictions::RestrictionObserver;
use self::visibility::screening::Screen;
use crate::domain_events::EventObserver;
use crate::http::operation::{Operation, Operations};
use crate::http::router::Router;
use crate::state::{JobKind, Lists, Retention, Sweep};
use crate::{audit, jobs, mail_quota};

/// Every operation that is served, in the order of the documentation.
pub fn operations() -> &'static [Operation] {
    static OPERATIONS: LazyLock<Vec<Operation>> = LazyLock::new(|| {
        [
            auth::operations(),
            crypto::operations(),
            entities::operations(),
            comments::operations(),
            moderation::operations(),
            deletion::operations(),
            collections::operations(),
            spaces::operations(),
            digests::operations(),
            identities::operations(),
            oauth::operations(),
            users::operations(),
            exports::operations(),
            follows::operations(),
            connections::operations(),
            blocks::operations(),
            notifications::operations(),
            push::operations(),
            notification_mails::operations(),
            link_previews::operations(),
            projects::operations(),
            files::operations(),
            chat::operations(),
            workspaces::operations(),
            search::operations(),
            events::operations(),
            grants::operations(),
            tables::operations(),
            webhooks::operations(),
            server::operations(),
        ]
        .into_iter()
        .flatten()
        .collect()
    });
    &OPERATIONS
}

/// The pages of the admin, which are no part of the API.
pub fn pages() -> &'static [Operation] {
    static PAGES: LazyLock<Vec<Operation>> = LazyLock::new(admin::pages);
    &PAGES
}

/// The routes of all operations and pages; fails when two declarations collide.
pub fn router() -> Result<&'static Router, String> {
    static ROUTER: LazyLock<Result<Router, String>> =
        LazyLock::new(|| Router::new(operations().iter().chain(pages())));
    ROUTER.as_ref().map_err(Clone::clone)
}

/// The routes without those of the admin; the explorer of the API stays.
pub fn api_router() -> Result<&'static Router, String> {
    static ROUTER: LazyLock<Result<Router, String>> = LazyLock::new(|| {
        let open = pages().iter().filter(|page| !admin::is_guarded(page));
        Router::new(operations().iter().chain(open))
    });
    ROUTER.as_ref().map_err(Clone::clone)
}

/// The routes of the admin alone, and of health checks.
pub fn admin_router() -> Result<&'static Router, String> {
    static ROUTER: LazyLock<Result<Router, String>> = LazyLock::new(|| {
        let health = |operation: &&Operation| ["/livez", "/readyz"].contains(&operation.path);
        Router::new(operations().iter().filter(health).chain(pages()))
    });
    ROUTER.as_ref().map_err(Clone::clone)
}

/// The lists through which lower modules call features.
pub fn lists() -> Lists {
    let file_holders: Vec<&'static dyn FileHolder> = vec![
        &entities::files::EntityFiles,
        &comments::files::CommentFiles,
        &spaces::files::SpaceFiles,
        &chat::file_access::ChatFiles,
        &events::files::EventFiles,
    ];
    let space_observers: Vec<&'static dyn SpaceObserver> = vec![&chat::space::SpaceConversations];
    let event_observers: Vec<&'static dyn EventObserver> = vec![
        &webhooks::Webhooks,
        &live::LiveFeeds,
        &push::automatic::Push,
        &notification_mails::Mails,
    ];
    let restriction_observers: Vec<&'static dyn RestrictionObserver> =
        vec![&moderation::decisions::Restrictions];
    let screens: Vec<&'static dyn Screen> = vec![&moderation::rules::Rules];
    let grant_targets: Vec<&'static dyn GrantTarget> = vec![
        &entities::grants::EntityGrants,
        &comments::grants::CommentGrants,
        &chat::grants::MessageGrants,
    ];
    let entity_extras = EntityExtras {
        top_comments: comments::top_comments,
        saved: collections::store::links::saved,
    };
    Lists::default()
        .with(job_kinds())
        .with(sweeps())
        .with(vec![Retention { keep: |config| config.audit_keep, drop: audit::cut }])
        .with(file_holders)
        .with(space_observers)
        .with(event_observers)
        .with(grant_targets)
        .with(screens)
        .with(restriction_observers)
        .with(vec![entity_extras])
        .with(vec![
            oauth::admin::SECRETS,
            webhooks::admin::SECRETS,
            push::admin::SECRETS,
            digests::SECRETS,
            admin::accounts::SECRETS,
        ])
        .with(vec![Operations(operations())])
}

fn job_kinds() -> Vec<JobKind> {
    vec![
        jobs::kind::<auth::mails::PasswordReset>(),
        jobs::kind::<auth::mails::EmailVerification>(),
        jobs::kind::<auth::mails::DeletionCode>(),
        jobs::kind::<files::uploads::RemoveFiles>(),
        jobs::kind::<comments::delete::mark_replies::Marking>(),
        jobs::kind::<comments::delete::purge::RemoveComments>(),
        jobs::kind::<deletion::space::RemoveSpaces>(),
        jobs::kind::<chat::conversations::purge::RemoveConversation>(),
        jobs::kind::<events::notify::NotifyGuests>(),
        jobs::kind::<deletion::user::EmptyDatabaseLog>(),
        jobs::kind::<workspaces::invites::mail::WorkspaceInvitation>(),
        jobs::kind::<project_deletion::DeleteProject>(),
        jobs::kind::<exports::ExportUser>(),
        jobs::kind::<exports::RemoveExport>(),
        jobs::kind::<exports::uploads::ImportProject>(),
        jobs::kind::<exports::uploads::RemoveUpload>(),
        jobs::kind::<digests::SendDigest>(),
        jobs::kind::<push::automatic::PushNotification>(),
        jobs::kind::<push::PushChatMessage>(),
        jobs::kind::<notification_mails::MailNotifications>(),
        jobs::kind::<webhooks::deliver::Delivery>(),
        jobs::kind::<moderation::decisions::ApplyDecisions>(),
        jobs::kind::<moderation::decisions::bulk::DecideAll>(),
    ]
}

fn sweeps() -> Vec<Sweep> {
    vec![
        Sweep(auth::store::sweep),
        Sweep(oauth::store::sweep),
        Sweep(jobs::store::sweep),
        Sweep(mail_quota::store::sweep),
        Sweep(digests::enqueue_due),
        Sweep(audit::seal),
        Sweep(admin::store::sweep),
        Sweep(notification_mails::enqueue_due),
        Sweep(moderation::rules::store::sweep),
        Sweep(moderation::decisions::enqueue_overdue),
    ]
}

/// Every static SQL statement, for the tests that prepare and explain them on both engines.
pub fn statements() -> impl Iterator<Item = &'static dyn db::AnyStatement> {
    [
        auth::store::ALL,
        visibility::store::blocks::ALL,
        blocks::store::ALL,
        connections::store::recount::ALL,
        connections::store::ALL,
        follows::store::recount::ALL,
        follows::store::ALL,
        chat::conversations::store::reading::ALL,
        chat::conversations::store::ALL,
        chat::store::recount::ALL,
        chat::store::anonymize::ALL,
        chat::members::store::ALL,
        chat::messages::store::ALL,
        collections::store::recount::ALL,
        collections::store::anonymize::ALL,
        collections::store::links::ALL,
        collections::store::ALL,
        notification_mails::store::ALL,
        notifications::store::ALL,
        notifications::store::recount::ALL,
        notifications::store::hide::ALL,
        notifications::store::insert::ALL,
        comments::store::recount::ALL,
        comments::store::anonymize::ALL,
        comments::store::best::ALL,
        comments::list::sql::ALL,
        comments::store::mark_replies::ALL,
        moderation::store::comment::ALL,
        comments::store::purge::ALL,
        comments::store::ALL,
        entities::store::recount::ALL,
        entities::store::feed_totals::ALL,
        entities::store::anonymize::ALL,
        moderation::store::entity::ALL,
        deletion::store::purge_entities::ALL,
        entities::score::store::ALL,
        entities::store::ALL,
        events::store::anonymize::ALL,
        events::store::totals::ALL,
        events::store::people::ALL,
        events::store::recount::ALL,
        events::store::ALL,
        grants::store::anonymize::ALL,
        grants::store::recount::ALL,
        grants::store::ALL,
        identities::store::ALL,
        identities::store::issuers::ALL,
        oauth::store::ALL,
        push::store::ALL,
        digests::store::ALL,
        crate::tenancy::store::ALL,
        server::store::ALL,
        jobs::store::figures::ALL,
        jobs::store::queues::ALL,
        files::store::audit::ALL,
        files::store::ALL,
        reactions::store::delete_reactions::ALL,
        reactions::store::ALL,
        moderation::appeals::store::ALL,
        moderation::decisions::store::ALL,
        moderation::people::store::ALL,
        moderation::queue::store::ALL,
        moderation::rules::store::ALL,
        moderation::reports::store::recount::ALL,
        moderation::reports::store::anonymize::ALL,
        moderation::reports::store::ALL,
        search::store::ALL,
        search::store::fill::ALL,
        search::store::postings::ALL,
        search::store::scope::ALL,
        search::store::state::ALL,
        search::store::texts::ALL,
        search::store::vectors::ALL,
        search::store::words::ALL,
        spaces::store::access::ALL,
        spaces::store::recount::ALL,
        deletion::store::space::ALL,
        spaces::store::anonymize::ALL,
        spaces::store::moderation_log::ALL,
        spaces::list::store::mutual::ALL,
        spaces::members::store::ALL,
        spaces::store::rulebook::ALL,
        spaces::store::ALL,
        tables::store::catalogue::ALL,
        users::store::lock_pair::ALL,
        users::store::points::ALL,
        users::store::ALL,
        webhooks::store::ALL,
        workspaces::store::ALL,
        workspaces::store::members::ALL,
        workspaces::store::invites::ALL,
        workspaces::store::erase::ALL,
        admin::store::ALL,
        admin::store::figures::ALL,
        admin::store::passkeys::ALL,
        audit::store::ALL,
        crate::auth::store::sessions::ALL,
        crate::auth::store::suspensions::ALL,
        crate::installation::store::ALL,
        crate::jobs::store::ALL,
        mail_quota::store::ALL,
        crate::search_queue::store::ALL,
    ]
    .into_iter()
    .flatten()
    .copied()
}
