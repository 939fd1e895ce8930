//! The pages, one file for each entry of the navigation.

mod audit_log;
mod content;
mod files;
mod health;
mod import;
mod jobs;
mod keys;
mod lifecycle;
mod mails;
mod overview;
mod projects;
mod push;
mod queue;
mod queue_all;
mod queue_appeals;
mod queue_item;
mod queue_live;
mod requests;
mod rules;
mod settings;
mod sign_in;
mod spaces;
mod system;
mod tables;
mod user_records;
mod users;
mod webhooks;
mod why;

use http::Method;

use crate::auth::operators::{Audience, Role};
use crate::features::admin::visit::{page, page_with_files};
use crate::http::operation::Operation;

pub(super) fn pages() -> Vec<Operation> {
    let get = |path, name, audience| (Method::GET, path, name, audience);
    let post = |path, name, audience| (Method::POST, path, name, audience);
    let analyst = Audience::InProject(Role::Analyst);
    let moderator = Audience::InProject(Role::Moderator);
    let admin = Audience::InProject(Role::Admin);
    let project_owner = Audience::InProject(Role::Owner);
    let (everywhere, owner) =
        (Audience::Everywhere(Role::Admin), Audience::Everywhere(Role::Owner));
    macro_rules! pages {
        ($($declared:expr => $handler:path,)*) => {
            vec![$({
                let (method, path, name, audience) = $declared;
                page(method, path, name, audience, $handler)
            },)*]
        };
    }
    let upload = ("/admin/p/{projectId}/import", "Upload Import", project_owner);
    let upload = page_with_files(upload, &import::FORM, import::upload);
    let mut pages = pages! {
        get("/admin", "Projects Page", Audience::Operator) => projects::list,
        post("/admin/projects", "Create Project", everywhere) => projects::create,
        get("/admin/system", "System Page", everywhere) => system::show,
        get("/admin/requests", "Recent Requests", everywhere) => requests::installation,
        get("/admin/p/{projectId}/requests", "Recent Requests of a Project", admin) => requests::project,
        post("/admin/backup", "Make Backup", everywhere) => system::back_up,
        get("/admin/jobs", "Jobs of All Projects", everywhere) => jobs::list,
        post("/admin/jobs", "Change Job of Any Project", everywhere) => jobs::change,
        get("/admin/audit", "Audit Log of the Installation", owner) => audit_log::installation,
        post("/admin/audit", "Verify Audit Logs", owner) => audit_log::verify,
        get("/admin/p/{projectId}", "Overview Page", analyst) => overview::show,
        get("/admin/p/{projectId}/queue", "Queue Page", moderator) => queue::show,
        post("/admin/p/{projectId}/queue", "Decide Reports", moderator) => queue::decide,
        get("/admin/p/{projectId}/queue/all", "Decide All Matching Page", moderator) => queue_all::show,
        post("/admin/p/{projectId}/queue/all", "Decide All Matching", moderator) => queue_all::start,
        get("/admin/p/{projectId}/queue/all/{jobId}", "Progress of Decisions", moderator) => queue_all::progress,
        post("/admin/p/{projectId}/queue/all/{jobId}", "Stop Decisions", moderator) => queue_all::stop,
        post("/admin/p/{projectId}/queue/undo", "Undo Decisions", moderator) => queue::undo,
        post("/admin/p/{projectId}/queue/claim", "Claim Report", moderator) => queue::claim,
        post("/admin/p/{projectId}/queue/note", "Add Note", moderator) => queue::note,
        get("/admin/p/{projectId}/queue/live", "Queue Events", moderator) => queue_live::events,
        get("/admin/p/{projectId}/files/{fileId}", "File Page", moderator) => files::show,
        get("/admin/p/{projectId}/users", "Users Page", moderator) => users::list,
        get("/admin/p/{projectId}/users/{userId}", "User Page", moderator) => users::show,
        post("/admin/p/{projectId}/users/{userId}", "Change User", moderator) => users::change,
        post("/admin/p/{projectId}/users/{userId}/token", "Start Session as User", project_owner) => user_records::token,
        get("/admin/p/{projectId}/content", "Content Page", moderator) => content::list,
        get("/admin/p/{projectId}/content/{entityId}", "Entity Page", moderator) => content::show,
        post("/admin/p/{projectId}/content/{entityId}", "Change Entity", moderator) => content::change,
        get("/admin/p/{projectId}/spaces", "Spaces Page", moderator) => spaces::list,
        get("/admin/p/{projectId}/spaces/{spaceId}", "Space Page", moderator) => spaces::show,
        post("/admin/p/{projectId}/spaces/{spaceId}", "Change Space Members", moderator) => spaces::change,
        get("/admin/p/{projectId}/files", "Files Page", admin) => files::list,
        post("/admin/p/{projectId}/files", "Delete Stored File", admin) => files::delete,
        get("/admin/p/{projectId}/tables", "Tables Page", admin) => tables::list,
        post("/admin/p/{projectId}/tables", "Create Table", admin) => tables::create,
        get("/admin/p/{projectId}/tables/{tableName}", "Table Page", admin) => tables::rows,
        post("/admin/p/{projectId}/tables/{tableName}", "Change Table", admin) => tables::change,
        get("/admin/p/{projectId}/webhooks", "Webhooks Page", admin) => webhooks::list,
        post("/admin/p/{projectId}/webhooks", "Change Webhook", admin) => webhooks::change,
        get("/admin/p/{projectId}/keys", "Keys Page", admin) => keys::list,
        post("/admin/p/{projectId}/keys", "Change Keys", admin) => keys::change,
        get("/admin/p/{projectId}/rules", "Rules Page", admin) => rules::list,
        post("/admin/p/{projectId}/rules", "Change Rules", admin) => rules::change,
        get("/admin/p/{projectId}/why", "Why Page", moderator) => why::show,
        get("/admin/p/{projectId}/settings", "Settings Page", admin) => settings::show,
        post("/admin/p/{projectId}/settings", "Change Settings", admin) => settings::change,
        post("/admin/p/{projectId}/reindex", "Rebuild Search Index", admin) => lifecycle::reindex,
        post("/admin/p/{projectId}/state", "Set State of Project", admin) => lifecycle::set_state,
        post("/admin/p/{projectId}/export", "Export Project", project_owner) => lifecycle::export,
        get("/admin/p/{projectId}/import", "Import Page", project_owner) => import::show,
        post("/admin/p/{projectId}/import/run", "Import Project", project_owner) => import::run,
        post("/admin/p/{projectId}/delete", "Delete Project", project_owner) => lifecycle::delete,
        get("/admin/p/{projectId}/sign-in", "Sign-in of Users Page", admin) => sign_in::show,
        post("/admin/p/{projectId}/oauth", "Change OAuth Provider", admin) => sign_in::providers::change,
        post("/admin/p/{projectId}/issuers", "Change JWT Issuer", admin) => sign_in::issuers::change,
        post("/admin/p/{projectId}/jwt-key", "Rotate JWT Key", admin) => sign_in::rotate_key,
        get("/admin/p/{projectId}/push", "Push Page", admin) => push::show,
        post("/admin/p/{projectId}/push", "Change Push", admin) => push::change,
        get("/admin/p/{projectId}/mails", "Mails Page", admin) => mails::show,
        post("/admin/p/{projectId}/mails", "Change Mails", admin) => mails::change,
        get("/admin/p/{projectId}/jobs", "Jobs Page", admin) => jobs::list,
        post("/admin/p/{projectId}/jobs", "Change Job", admin) => jobs::change,
        get("/admin/p/{projectId}/audit", "Audit Log of a Project", admin) => audit_log::project,
        post("/admin/p/{projectId}/audit", "Verify Audit Log of a Project", admin) => audit_log::verify,
    };
    pages.push(upload);
    pages
}
