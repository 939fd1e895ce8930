//! "Why can somebody see this?": every rule that decides about a post or a comment, asked of the functions that decide.

use db::Conn;
use maud::html;

use crate::auth::perspective::Perspective;
use crate::error::Result;
use crate::features::admin::layout;
use crate::features::admin::visit::Visit;
use crate::features::comments::{store as comments, visibility as of_comments};
use crate::features::entities::{store as entities, visibility as of_entities};
use crate::features::spaces::store::access;
use crate::features::visibility::store::blocks;
use crate::http::reply::Response;
use crate::tenancy::Project;
use crate::values::ids::{CommentId, EntityId, UserId};

/// A rule, and whether it lets the viewer pass.
type Answer = (&'static str, bool);

pub(super) async fn show(visit: Visit) -> Result<Response> {
    let project = visit.project()?.clone();
    let viewer: Option<UserId> = visit.query("user").and_then(|id| id.parse().ok());
    let perspective = viewer.map_or(Perspective::Anonymous, Perspective::User);
    let item = visit.query("item").and_then(|id| id.parse::<EntityId>().ok());
    let answers = match item {
        Some(id) => {
            let asked = visit.app.db.read(move |c| ask(c, &project, id, perspective));
            Some(asked.await?)
        }
        None => None,
    };
    let content = html! {
        form.search method="get" {
            label { "User id (empty: somebody who is not signed in)" input name="user" value=[visit.query("user")]; }
            label { "Id of a post or comment" input name="item" required value=[visit.query("item")]; }
            button { "Ask" }
        }
        @if let Some((answers, is_seen)) = &answers {
            p role="status" { strong { @if *is_seen { "They see it." } @else { "They do not see it." } } }
            table {
                thead { tr { th { "Rule" } th { "Answer" } } }
                tbody { @for (rule, passes) in answers { tr { td { (rule) } td { @if *passes { "yes" } @else { "no" } } } } }
            }
        }
    };
    Ok(layout::page(&visit, "Why?", &content))
}

/// The rules one by one, and what they decide together.
fn ask(
    c: &Conn<'_>,
    project: &Project,
    id: EntityId,
    perspective: Perspective,
) -> Result<(Vec<Answer>, bool)> {
    let mut answers = Vec::new();
    if let Some(row) = entities::find(c, project.id, id)? {
        answers.push(("It is a post that is there", true));
        let is_published = of_entities::is_published_for(perspective, &row);
        answers.push(("It is no draft and not held, or their own", is_published));
        answers.push(("It was not removed by a moderator", !row.moderation.is_removed()));
        answers.extend(blocked(c, project, perspective, &[row.user_id])?);
        let may_read = access::may_read(c, project.id, row.space_id, row.user_id, perspective)?;
        answers.push(("They may read its space, or it is in none", may_read));
        let is_seen = of_entities::find(c, project, id, perspective)?.is_some();
        return Ok((answers, is_seen));
    }
    let id = CommentId(id.0);
    let Some(row) = comments::find(c, project.id, id)? else {
        return Ok((vec![("There is such a post or comment", false)], false));
    };
    answers.push(("It is a comment that is there", true));
    let is_reachable = of_comments::is_reachable(&row, perspective);
    answers
        .push(("It is not below somebody else's draft and not held, or their own", is_reachable));
    answers.extend(blocked(c, project, perspective, &[row.user_id, row.entity_user_id])?);
    let may_read = access::may_read(c, project.id, row.space_id, row.user_id, perspective)?;
    answers.push(("They may read its space, or it is in none", may_read));
    let is_seen = of_comments::find(c, project, id, perspective)?.is_some();
    Ok((answers, is_seen))
}

fn blocked(
    c: &Conn<'_>,
    project: &Project,
    perspective: Perspective,
    authors: &[Option<UserId>],
) -> Result<Vec<Answer>> {
    let authors: Vec<UserId> = authors.iter().copied().flatten().collect();
    let blocked = blocks::blocked_among(c, project, perspective.viewer(), &authors)?;
    Ok(vec![("There is no block between them and the author", blocked.is_empty())])
}
