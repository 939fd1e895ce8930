//! What a digest says: the newest entities and members of a space, as the API shows them, and how many there are.

use std::sync::Arc;

use db::Conn;
use serde::Serialize;

use crate::error::{Error, Result};
use crate::features::digests::store::{self, News};
use crate::features::entities::model::Entity;
use crate::features::entities::show::View;
use crate::features::entities::store as entities;
use crate::features::spaces::members::list::{SpaceMemberWithUser, show};
use crate::features::spaces::members::store as members;
use crate::features::spaces::store as spaces;
use crate::storage::signed::Links;
use crate::tenancy::Project;
use crate::values::ids::{ProjectId, SpaceId};
use crate::values::time::Timestamp;

/// Entities and members that are shown; the others are only counted.
const MAX_SHOWN: i64 = 100;

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Digest {
    r#type: &'static str,
    project_id: ProjectId,
    space_id: SpaceId,
    data: Data,
}

#[derive(Debug, Serialize)]
struct Data {
    entities: Vec<Entity>,
    members: Vec<SpaceMemberWithUser>,
    counts: Counts,
}

#[derive(Debug, Serialize)]
struct Counts {
    entities: i64,
    comments: i64,
    members: i64,
}

/// None if nothing happened, or the space is gone.
pub(super) fn digest(
    c: &Conn<'_>,
    project: &Arc<Project>,
    links: &Links,
    space: SpaceId,
    window: (Timestamp, Timestamp),
) -> Result<Option<Digest>> {
    let Some(row) = spaces::find(c, project.id, space)? else { return Ok(None) };
    let news = store::news(c, project.id, space, window, MAX_SHOWN)?;
    if news.is_nothing() {
        return Ok(None);
    }
    let mut rows = entities::find_all(c, project.id, &news.entities)?;
    rows.sort_by_key(|row| news.entities.iter().position(|id| *id == row.id));
    let view = View::for_key(project.clone(), links.clone());
    let mut joined = members::find_all(c, project.id, &news.members)?;
    joined.sort_by_key(|row| news.members.iter().position(|id| *id == row.id));
    let data = Data {
        entities: view.entities(c, rows)?,
        members: show(c, links, &row, joined, None)?,
        counts: Counts {
            entities: news.entity_count,
            comments: news.comment_count,
            members: news.member_count,
        },
    };
    Ok::<_, Error>(Some(Digest {
        r#type: "space.digest",
        project_id: project.id,
        space_id: space,
        data,
    }))
}

impl News {
    fn is_nothing(&self) -> bool {
        self.entity_count + self.comment_count + self.member_count == 0
    }
}
