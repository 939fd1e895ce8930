//! Workspaces: teams in trees. Who may do what follows from ownership, membership and inheritance (`authority.rs`); a
//! request is read more strictly than elsewhere (`shape.rs`). Every change happens while the root of the tree is locked.

mod acting;
pub mod authority;
pub mod capabilities;
mod changes;
mod create;
mod fetch;
pub mod invites;
mod members;
pub mod model;
mod place;
pub mod rules;
mod shape;
pub mod store;
mod transfer;
mod update;

use db::Tx;
use http::Method;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::domain_events::Context;
use crate::error::{Result, faults};
use crate::features::users::store::UserRow;
use crate::http::access::Access;
use crate::http::input::{Input, Invalid};
use crate::http::operation::{Call, Operation};
use crate::http::reply::Reply;
use crate::http::version::Version;
use crate::tenancy::Bundle;
use crate::values::ids::WorkspaceId;

faults! {
    INVALID_PARAMS = 400 "workspace/invalid-params": "Invalid path parameters";
    INVALID_QUERY = 400 "workspace/invalid-query": "Invalid query";
    INVALID_BODY = 400 "workspace/invalid-body": "Invalid body";
    MISSING_USER_ID = 400 "workspace/missing-user-id": "A key must name the user in actingUserId";
    MAX_DEPTH_EXCEEDED = 400 "workspace/max-depth-exceeded":
        "Workspaces nest at most 10 levels below their root";
    UNAUTHORIZED = 403 "workspace/unauthorized": "Not authorized in this workspace";
    EMAIL_NOT_VERIFIED = 403 "workspace/email-not-verified": "The email address is not verified";
    INHERIT_ENFORCED = 403 "workspace/inherit-enforced":
        "The project does not allow changes of what workspaces inherit";
    INSUFFICIENT_RANK = 403 "workspace/insufficient-rank": "Only junior ranks can be acted on or given";
    NO_ESCALATION = 403 "workspace/no-escalation":
        "Only capabilities and permissions that one holds can be given";
    NOT_FOUND = 404 "workspace/not-found": "Workspace not found";
    INVALID_TARGET = 404 "workspace/invalid-target": "No such user";
    INVITE_NOT_FOUND = 404 "workspace/invite-not-found": "Invitation not found";
    SOLE_OWNER = 409 "workspace/sole-owner": "An owner cannot leave: transfer the workspace first";
    OWNS_DESCENDANTS = 409 "workspace/owns-descendants": "The user owns workspaces here";
    ALREADY_MEMBER = 409 "workspace/already-member": "The user belongs to the workspace already";
    MISSING_INVITE_ACCEPT_URL = 409 "workspace/missing-invite-accept-url":
        "The project has no page that invitations lead to";
    INVITE_EXPIRED = 409 "workspace/invite-expired": "The invitation has expired";
    INVITE_TERMINAL = 409 "workspace/invite-terminal": "The invitation has been answered or revoked";
}

const INVALID: Invalid =
    Invalid { params: INVALID_PARAMS, query: INVALID_QUERY, ..Invalid::all(INVALID_BODY) };

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct WorkspacePath {
    workspace_id: WorkspaceId,
}

/// Whether the user has shown that their address is theirs.
fn has_verified_email(user: &UserRow) -> bool {
    user.is_verified && user.email.is_some()
}

/// Ends the memberships of a user who is being deleted, and deletes the invitations to them. What they own stays. Their
/// trees have been locked with `store::erase::lock`. Without a context nobody observes it.
pub fn forget_user(tx: &Tx<'_>, context: Context<'_>, user: &UserRow) -> Result<()> {
    let rows = store::members::of_user(tx, context.project.id, user.id)?;
    changes::remove_member(tx, context, user.id, &rows)?;
    store::erase::delete_invites(tx, context.project.id, user.id, user.email.as_deref())
}

fn operation<A, I, O, H, F>(
    method: Method,
    path: &'static str,
    name: &'static str,
    handler: H,
) -> Operation
where
    A: Access,
    I: Input,
    O: Reply,
    H: Fn(Call<A>, I) -> F + Copy + Send + Sync + 'static,
    F: Future<Output = Result<O>> + Send,
{
    Operation::new(method, path, name, "workspace", INVALID, handler)
        .bundle(Bundle::Workspaces)
        .since(Version::V7)
}

pub fn operations() -> Vec<Operation> {
    let mut operations = of_workspaces();
    operations.extend(of_members());
    operations.extend(of_invites());
    operations
}

const ONE: &str = "/workspaces/{workspaceId}";

fn of_workspaces() -> Vec<Operation> {
    let (get, post, patch) = (Method::GET, Method::POST, Method::PATCH);
    let inherit_flag = "/workspaces/{workspaceId}/inherit-flag";
    let transfer = "/workspaces/{workspaceId}/transfer-ownership";
    vec![
        operation(post.clone(), "/workspaces", "Create Workspace", create::create_workspace)
            .errors(&[
                MISSING_USER_ID,
                INVALID_TARGET,
                EMAIL_NOT_VERIFIED,
                UNAUTHORIZED,
                NOT_FOUND,
                MAX_DEPTH_EXCEEDED,
            ]),
        operation(get.clone(), "/workspaces", "List Workspaces", fetch::list_workspaces).errors(&[
            MISSING_USER_ID,
            INVALID_TARGET,
            UNAUTHORIZED,
        ]),
        operation(get, ONE, "Fetch Workspace", fetch::fetch_workspace).errors(&[
            NOT_FOUND,
            INVALID_TARGET,
            UNAUTHORIZED,
        ]),
        operation(patch.clone(), ONE, "Update Workspace", update::update_workspace).errors(&[
            NOT_FOUND,
            INVALID_TARGET,
            UNAUTHORIZED,
        ]),
        operation(patch, inherit_flag, "Flip Inherit Flag", update::flip_inherit_flag).errors(&[
            NOT_FOUND,
            INVALID_TARGET,
            UNAUTHORIZED,
            INHERIT_ENFORCED,
        ]),
        operation(Method::DELETE, ONE, "Delete Workspace", update::delete_workspace).errors(&[
            NOT_FOUND,
            INVALID_TARGET,
            UNAUTHORIZED,
        ]),
        operation(post, transfer, "Transfer Ownership", transfer::transfer_ownership).errors(&[
            NOT_FOUND,
            INVALID_TARGET,
            UNAUTHORIZED,
            EMAIL_NOT_VERIFIED,
            INSUFFICIENT_RANK,
        ]),
    ]
}

fn of_members() -> Vec<Operation> {
    use members::{remove, roster, standing, subtree, update};
    let (get, delete) = (Method::GET, Method::DELETE);
    let all = "/workspaces/{workspaceId}/members";
    let one = "/workspaces/{workspaceId}/members/{userId}";
    let me = "/workspaces/{workspaceId}/members/me";
    let own = "/workspaces/{workspaceId}/authority/me";
    let from_subtree = "/workspaces/{workspaceId}/members/{userId}/remove-from-subtree";
    vec![
        operation(get.clone(), own, "Fetch Authority", standing::fetch_authority).errors(&[
            MISSING_USER_ID,
            NOT_FOUND,
            INVALID_TARGET,
            UNAUTHORIZED,
        ]),
        operation(get.clone(), all, "List Workspace Members", roster::list_members).errors(&[
            NOT_FOUND,
            INVALID_TARGET,
            UNAUTHORIZED,
        ]),
        operation(get, one, "Fetch Member Standing", standing::fetch_member_standing).errors(&[
            NOT_FOUND,
            INVALID_TARGET,
            UNAUTHORIZED,
        ]),
        operation(Method::PATCH, one, "Update Workspace Member", update::update_member).errors(&[
            MISSING_USER_ID,
            NOT_FOUND,
            INVALID_TARGET,
            UNAUTHORIZED,
            INSUFFICIENT_RANK,
            NO_ESCALATION,
        ]),
        operation(delete.clone(), one, "Remove Workspace Member", remove::remove_member).errors(&[
            MISSING_USER_ID,
            NOT_FOUND,
            INVALID_TARGET,
            UNAUTHORIZED,
            INSUFFICIENT_RANK,
            SOLE_OWNER,
        ]),
        operation(delete, me, "Leave Workspace", remove::leave_workspace).errors(&[
            MISSING_USER_ID,
            NOT_FOUND,
            INVALID_TARGET,
            UNAUTHORIZED,
            SOLE_OWNER,
        ]),
        operation(Method::POST, from_subtree, "Remove From Subtree", subtree::remove_from_subtree)
            .errors(&[
                MISSING_USER_ID,
                NOT_FOUND,
                INVALID_TARGET,
                UNAUTHORIZED,
                INSUFFICIENT_RANK,
                OWNS_DESCENDANTS,
            ]),
    ]
}

fn of_invites() -> Vec<Operation> {
    use invites::{answer, create, inbox, outbox};
    let (get, post) = (Method::GET, Method::POST);
    let all = "/workspaces/{workspaceId}/invites";
    let revoke = "/workspaces/{workspaceId}/invites/{inviteId}/revoke";
    let resend = "/workspaces/{workspaceId}/invites/{inviteId}/resend";
    let (accept, decline) =
        ("/workspace-invites/{inviteId}/accept", "/workspace-invites/{inviteId}/decline");
    const ANSWER: &[crate::error::Fault] = &[
        MISSING_USER_ID,
        INVALID_TARGET,
        UNAUTHORIZED,
        INVITE_NOT_FOUND,
        EMAIL_NOT_VERIFIED,
        INVITE_TERMINAL,
        INVITE_EXPIRED,
    ];
    vec![
        operation(post.clone(), all, "Create Workspace Invite", create::create_invite).errors(&[
            NOT_FOUND,
            UNAUTHORIZED,
            INVALID_TARGET,
            INSUFFICIENT_RANK,
            NO_ESCALATION,
            MISSING_INVITE_ACCEPT_URL,
            ALREADY_MEMBER,
        ]),
        operation(get.clone(), all, "List Workspace Invites", outbox::list_invites).errors(&[
            NOT_FOUND,
            INVALID_TARGET,
            UNAUTHORIZED,
        ]),
        operation(post.clone(), revoke, "Revoke Workspace Invite", outbox::revoke_invite)
            .errors(&[NOT_FOUND, INVALID_TARGET, UNAUTHORIZED, INVITE_NOT_FOUND, INVITE_TERMINAL]),
        operation(post.clone(), resend, "Resend Workspace Invite", outbox::resend_invite).errors(
            &[
                NOT_FOUND,
                INVALID_TARGET,
                UNAUTHORIZED,
                INVITE_NOT_FOUND,
                INVITE_TERMINAL,
                MISSING_INVITE_ACCEPT_URL,
            ],
        ),
        operation(post.clone(), accept, "Accept Workspace Invite", answer::accept_invite)
            .errors(ANSWER),
        operation(post, decline, "Decline Workspace Invite", answer::decline_invite).errors(ANSWER),
        operation(
            get,
            "/me/workspace-invites",
            "List My Workspace Invites",
            inbox::list_my_invites,
        )
        .errors(&[MISSING_USER_ID, INVALID_TARGET, UNAUTHORIZED]),
    ]
}
