//! Comments that reputation is given for.

use db::Conn;
use serde_json::{Map, json};
use uuid::Uuid;

use crate::auth::perspective::Perspective;
use crate::error::Result;
use crate::features::comments::store::CommentRow;
use crate::features::comments::visibility;
use crate::features::comments::write::notify::{OPEN_COMMENT, about};
use crate::features::grants::rules::TargetKind;
use crate::features::grants::targets::{GrantTarget, Target};
use crate::features::notifications::Subject;
use crate::tenancy::Project;
use crate::values::ids::{CommentId, short_id};

#[derive(Debug)]
pub struct CommentGrants;

impl GrantTarget for CommentGrants {
    fn find(
        &self,
        c: &Conn<'_>,
        project: &Project,
        kind: TargetKind,
        id: Uuid,
        sender: Perspective,
    ) -> Option<Result<Option<Target>>> {
        if kind != TargetKind::Comment {
            return None;
        }
        let found = visibility::find(c, project, CommentId(id), sender);
        Some(found.map(|found| found.filter(|row| row.user_deleted_at.is_none()).map(target)))
    }
}

fn target(row: CommentRow) -> Target {
    let mut keys = Map::new();
    about(&mut keys, &row);
    keys.insert("entityId".to_owned(), json!(row.entity_id));
    keys.insert("entityShortId".to_owned(), short_id(row.entity_id.0).into());
    Target {
        subject: Subject::Comment { entity: row.entity_id, comment: row.id },
        space: row.space_id,
        conversation: None,
        action: OPEN_COMMENT,
        keys,
    }
}
