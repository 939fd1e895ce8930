//! List Workspace Members: everybody who belongs to a workspace, each once, with all their reasons; or how many they are.
//! Ranks and capabilities are shown only to those who may see them in the workspace that they come from.

use std::collections::{HashMap, HashSet};

use db::Conn;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};

use crate::auth::caller::UserOrKey;
use crate::error::{Error, Result};
use crate::features::users::model as users;
use crate::features::users::model::raw;
use crate::features::workspaces::WorkspacePath;
use crate::features::workspaces::acting::{Acting, Purpose, acting};
use crate::features::workspaces::authority::{self, Node};
use crate::features::workspaces::model::{Reason, RosterEntry};
use crate::features::workspaces::place::{self, Everywhere, Place};
use crate::features::workspaces::shape::{Declared, Read};
use crate::features::workspaces::store::members::MemberRow;
use crate::features::workspaces::store::{self, WorkspaceRow, members};
use crate::http::include::Include;
use crate::http::input::{Flag, Path};
use crate::http::operation::Call;
use crate::http::reply::Json;
use crate::storage::signed::Links;
use crate::values::ids::{ProjectId, UserId, WorkspaceId};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(in crate::features::workspaces) struct RosterQuery {
    #[serde(default)]
    include: Include,
    #[serde(default)]
    count_only: Flag,
}

impl Declared for RosterQuery {}

#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(in crate::features::workspaces) enum Roster {
    Entries(Entries),
    Counts(Counted),
}

/// A list, or with `countOnly` the numbers.
impl JsonSchema for Roster {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "WorkspaceRosterReply".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let forms = [generator.subschema_for::<Entries>(), generator.subschema_for::<Counted>()];
        schemars::json_schema!({ "oneOf": forms })
    }
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "WorkspaceRoster")]
pub(in crate::features::workspaces) struct Entries {
    data: Vec<RosterEntry>,
    /// The owner and the direct members.
    total: usize,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "WorkspaceRosterCounts")]
pub(in crate::features::workspaces) struct Counted {
    counts: Counts,
    total: usize,
    distinct_users: usize,
}

/// Users of each kind; one user may be of several.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "WorkspaceRosterKinds")]
struct Counts {
    owner: usize,
    member: usize,
    ancestor_owner: usize,
    reach_holder: usize,
    descendant_member: usize,
}

pub(in crate::features::workspaces) async fn list_members(
    call: Call<UserOrKey>,
    (Path(path), Read { named, query }): (Path<WorkspacePath>, Read<RosterQuery>),
) -> Result<Json<Roster>> {
    let acting = acting(&call, named, Purpose::Read).await?;
    let (project, links) = (call.project.id, call.links());
    // Never paged: it may be long.
    let listed = call.app.db.read_slow(move |c| {
        let place = place::see(c, project, path.workspace_id, acting)?;
        if query.count_only.0 {
            return counted(c, project, &place).map(Roster::Counts);
        }
        let wanted = Wanted {
            ancestor_owners: query.include.has("ancestorOwners"),
            reach_holders: query.include.has("reachHolders"),
            descendants: query.include.has("descendants"),
        };
        entries(c, &links, acting, &place, wanted).map(Roster::Entries)
    });
    listed.await.map(Json)
}

#[derive(Debug, Clone, Copy)]
struct Wanted {
    ancestor_owners: bool,
    reach_holders: bool,
    descendants: bool,
}

/// The workspaces above that pass their memberships on to the last one of the line, the nearest first.
fn passing_down(line: &[WorkspaceRow]) -> impl Iterator<Item = &WorkspaceRow> {
    let nodes: Vec<Node> = line.iter().map(WorkspaceRow::node).collect();
    line.iter().rev().skip(1).take(authority::reach(&nodes))
}

fn ids<'a>(rows: impl Iterator<Item = &'a WorkspaceRow>) -> Vec<WorkspaceId> {
    rows.map(|row| row.id).collect()
}

fn counted(c: &Conn<'_>, project: ProjectId, place: &Place) -> Result<Counted> {
    let here = place.workspace.id;
    let above = ids(passing_down(&place.line));
    let subtree = store::subtree(c, project, here)?;
    let mut all = ids(subtree.iter());
    all.extend(&above);
    let pairs = members::pairs(c, project, &all)?;
    let users = |is_one: &dyn Fn(&WorkspaceId) -> bool| -> HashSet<UserId> {
        pairs.iter().filter(|(at, _)| is_one(at)).map(|(_, user)| *user).collect()
    };
    let member = users(&|at| *at == here);
    let reach = users(&|at| above.contains(at));
    let below = users(&|at| *at != here && !above.contains(at));
    let owners: HashSet<UserId> = place.line.iter().rev().skip(1).map(|row| row.owner_id).collect();
    let owner = HashSet::from([place.workspace.owner_id]);
    let distinct = [&owner, &member, &owners, &reach, &below].into_iter().flatten();
    Ok(Counted {
        total: owner.union(&member).count(),
        distinct_users: distinct.collect::<HashSet<_>>().len(),
        counts: Counts {
            owner: owner.len(),
            member: member.len(),
            ancestor_owner: owners.len(),
            reach_holder: reach.len(),
            descendant_member: below.len(),
        },
    })
}

fn entries(
    c: &Conn<'_>,
    links: &Links,
    acting: Acting,
    place: &Place,
    wanted: Wanted,
) -> Result<Entries> {
    let (project, here) = (links.project, place.workspace.id);
    let subtree = match wanted.descendants {
        true => store::subtree(c, project, here)?,
        false => Vec::new(),
    };
    let below = ids(subtree.iter().filter(|row| row.id != here));
    let above: Vec<WorkspaceId> = match wanted.reach_holders {
        true => ids(passing_down(&place.line)),
        false => Vec::new(),
    };
    let everywhere = Everywhere::new(c, project, acting, place.line.iter().chain(subtree.iter()))?;
    let mut list = List {
        acting,
        everywhere,
        shown: HashMap::new(),
        users: Vec::new(),
        reasons: HashMap::new(),
    };
    list.add(place.workspace.owner_id, Reason::Owner);
    let direct = members::in_all(c, project, &[here])?;
    for row in &direct {
        let reason = list.member(row, place)?;
        list.add(row.user_id, reason);
    }
    let total = list.users.len();
    if wanted.ancestor_owners {
        for row in place.line.iter().rev().skip(1) {
            list.add(row.owner_id, Reason::AncestorOwner { via_workspace_id: row.id });
        }
    }
    for row in members::in_all(c, project, &above)? {
        let capabilities = list.sees(&row).then(|| row.capabilities.clone());
        let via_workspace_id = row.workspace_id;
        list.add(row.user_id, Reason::ReachHolder { via_workspace_id, capabilities });
    }
    for row in members::in_all(c, project, &below)? {
        let is_shown = list.sees(&row);
        let reason = Reason::DescendantMember {
            workspace_id: row.workspace_id,
            rank: is_shown.then_some(row.rank),
            capabilities: is_shown.then(|| row.capabilities.clone()),
        };
        list.add(row.user_id, reason);
    }
    Ok(Entries { data: list.into_entries(c, links)?, total })
}

/// The roster while it is put together: users in the order in which they were first found.
struct List {
    acting: Acting,
    everywhere: Everywhere,
    /// Whether access is shown in a workspace.
    shown: HashMap<WorkspaceId, bool>,
    users: Vec<UserId>,
    reasons: HashMap<UserId, Vec<Reason>>,
}

impl List {
    fn add(&mut self, user: UserId, reason: Reason) {
        let reasons = self.reasons.entry(user).or_insert_with(|| {
            self.users.push(user);
            Vec::new()
        });
        reasons.push(reason);
    }

    /// Whether the caller sees the access that a membership gives: their own always.
    fn sees(&mut self, row: &MemberRow) -> bool {
        let at = row.workspace_id;
        self.acting == Acting::User(row.user_id)
            || *self.shown.entry(at).or_insert_with(|| self.everywhere.at(at).sees_access())
    }

    fn member(&mut self, row: &MemberRow, place: &Place) -> Result<Reason> {
        let is_shown = self.sees(row);
        Ok(Reason::Member {
            rank: is_shown.then_some(row.rank),
            relative_rank: is_shown.then(|| row.rank - place.authority.anchor()),
            capabilities: is_shown.then(|| row.capabilities.clone()),
            permissions: is_shown.then(|| row.permissions.clone()),
            title: Some(row.title.clone()),
            metadata: Some(raw(row.metadata.0.as_str())?),
        })
    }

    fn into_entries(mut self, c: &Conn<'_>, links: &Links) -> Result<Vec<RosterEntry>> {
        let mut found = users::shown(c, links, self.users.clone())?;
        let entry = |user: &UserId| RosterEntry {
            user: found.remove(user),
            reasons: self.reasons.remove(user).unwrap_or_default(),
        };
        Ok::<_, Error>(self.users.iter().map(entry).collect())
    }
}
