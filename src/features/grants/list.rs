//! Fetch Many Reputation Grants: what a user received or gave, or what was given for something.

use db::Conn;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::auth::caller::UserOrKey;
use crate::error::{Error, Fault, Result};
use crate::features::grants::model::{Grants, ReputationGrant};
use crate::features::grants::rules::TargetKind;
use crate::features::grants::store::list::{self as store, Of};
use crate::features::grants::store::{GrantRow, summaries};
use crate::features::grants::{INVALID_FILTER, INVALID_QUERY, MISSING_FILTER};
use crate::features::users::model::shown;
use crate::features::users::reputation::{self, Bucket, ReputationQuery};
use crate::http::include::Include;
use crate::http::input::{Paging, Query};
use crate::http::operation::Call;
use crate::http::page::Pagination;
use crate::http::reply::Json;
use crate::storage::signed::Links;
use crate::values::ids::{UserId, parse_uuid};

/// The most of a page: more is refused, not lowered.
pub(super) const LIMIT: u32 = 100;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct GrantsQuery {
    recipient_id: Option<UserId>,
    sender_id: Option<UserId>,
    target_type: Option<TargetKind>,
    target_id: Option<String>,
    /// `user`.
    #[serde(default)]
    include: Include,
    #[serde(flatten)]
    reputation: ReputationQuery,
}

impl GrantsQuery {
    /// Which grants are asked for.
    fn filter(&self) -> Result<Of> {
        let target = match (self.target_type, &self.target_id) {
            (Some(kind), Some(id)) => {
                let id = parse_uuid(id);
                Some((kind, id.ok_or_else(|| INVALID_QUERY.because("targetId: must be a UUID"))?))
            }
            (None, None) => None,
            _ => return Err(INVALID_FILTER.because("targetType and targetId: both or neither")),
        };
        match (self.recipient_id, self.sender_id, target) {
            (None, None, None) => Err(MISSING_FILTER.into()),
            (Some(user), None, None) => Ok(Of::Recipient(user)),
            (None, Some(user), None) => Ok(Of::Sender(user)),
            (None, None, Some((kind, id))) => Ok(Of::Target(kind, id)),
            _ => Err(INVALID_FILTER.into()),
        }
    }
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ReputationGrantPage")]
pub(super) struct GrantPage {
    data: Vec<ReputationGrant>,
    pagination: Pagination,
    /// Of what was given for a target.
    #[serde(skip_serializing_if = "Option::is_none")]
    summary: Option<Grants>,
}

/// Refuses a `limit` over the maximum.
pub(super) fn check_limit(limit: Option<&str>, invalid: Fault) -> Result<()> {
    let number = limit.and_then(|limit| limit.parse::<u64>().ok());
    if number.is_some_and(|number| number > LIMIT.into()) {
        return Err(invalid.because(format!("limit: must be at most {LIMIT}")));
    }
    Ok(())
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct LimitQuery {
    #[schemars(skip)]
    limit: Option<String>,
}

pub(super) async fn fetch_many(
    call: Call<UserOrKey>,
    (Paging(page), Query(LimitQuery { limit }), Query(query)): (
        Paging<20, LIMIT>,
        Query<LimitQuery>,
        Query<GrantsQuery>,
    ),
) -> Result<Json<GrantPage>> {
    check_limit(limit.as_deref(), INVALID_QUERY)?;
    let bucket = query.reputation.bucket_or_context(&call.project, INVALID_QUERY)?;
    let of = query.filter()?;
    let (project, links, viewer) = (call.project.clone(), call.links(), call.caller.user());
    let with_users = query.include.has("user");
    let listed = call.app.db.read_slow(move |c| {
        let (rows, total) = store::page(c, project.id, of, viewer, page)?;
        let data = show(c, &links, rows, with_users, bucket)?;
        let summary = match of {
            // The caller sees all grants for a target, or none.
            Of::Target(_, id) if total > 0 => summaries(c, &project, vec![id], viewer)?.remove(&id),
            Of::Target(..) => Some(Grants::default()),
            Of::Recipient(_) | Of::Sender(_) => None,
        };
        let paged = page.of(data, total);
        let (data, pagination) = (paged.data, paged.pagination);
        Ok::<_, Error>(GrantPage { data, pagination, summary })
    });
    listed.await.map(Json)
}

fn show(
    c: &Conn<'_>,
    links: &Links,
    rows: Vec<GrantRow>,
    with_users: bool,
    bucket: Option<Bucket>,
) -> Result<Vec<ReputationGrant>> {
    let users = rows.iter().flat_map(|row| [row.sender_id, Some(row.recipient_id)]);
    let users: Vec<UserId> = users.flatten().filter(|_| with_users).collect();
    let people = shown(c, links, users)?;
    let mut grants = rows.into_iter().map(ReputationGrant::new).collect::<Result<Vec<_>>>()?;
    if !with_users {
        return Ok(grants);
    }
    for grant in &mut grants {
        let (sender, recipient) = (grant.fields.sender_id, grant.fields.recipient_id);
        grant.sender = Some(sender.and_then(|id| people.get(&id).cloned()));
        grant.recipient = Some(people.get(&recipient).cloned());
    }
    if let Some(bucket) = bucket {
        let mut points = Vec::new();
        for grant in &mut grants {
            let sum = bucket.of(grant.fields.space_id);
            let both = [grant.sender.as_mut(), grant.recipient.as_mut()].into_iter().flatten();
            points.extend(both.flatten().map(|user| user.points_in(sum)));
        }
        reputation::add_points(c, links.project, points)?;
    }
    Ok(grants)
}
