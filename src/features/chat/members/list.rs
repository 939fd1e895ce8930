//! List Members.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::auth::caller::Actor;
use crate::error::{Error, Result};
use crate::features::chat::members::store;
use crate::features::chat::model::{Member, MemberUser};
use crate::features::chat::rules::Role;
use crate::features::chat::{INVALID_QUERY, InConversation, membership, show};
use crate::features::users::model as users;
use crate::features::users::reputation::ReputationQuery;
use crate::http::input::{LenientPaging, Path, Query};
use crate::http::operation::Call;
use crate::http::page::Paged;
use crate::http::reply::Json;

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct MembersQuery {
    role: Option<Role>,
    #[serde(flatten)]
    reputation: ReputationQuery,
}

pub(super) async fn list(
    call: Call<Actor>,
    (Path(path), LenientPaging(page), Query(query)): (
        Path<InConversation>,
        LenientPaging<50>,
        Query<MembersQuery>,
    ),
) -> Result<Json<Paged<Member>>> {
    let bucket = query.reputation.bucket_or_context(&call.project, INVALID_QUERY)?;
    let (links, actor, now) = (call.links(), call.caller.user, call.now);
    let listed = call.app.db.read_slow(move |c| {
        let standing = membership::reader(c, links.project, path.conversation_id, actor)?;
        let conversation = &standing.conversation;
        let (rows, total) = store::page(c, links.project, conversation.id, query.role, page)?;
        let mut people = users::shown(c, &links, rows.iter().map(|row| row.user_id).collect())?;
        let points = bucket.map(|bucket| (bucket, conversation.space_id));
        show::add_points(c, links.project, &mut people, points)?;
        let member = |row: &store::MemberRow| {
            let user = people.get(&row.user_id).map(MemberUser::from);
            let shown = match row.user_id == actor {
                true => Member::own(links.project, row, now),
                false => Member::new(links.project, row),
            };
            Member { user, ..shown }
        };
        Ok::<_, Error>(page.of(rows.iter().map(member).collect(), total))
    });
    listed.await.map(Json)
}
