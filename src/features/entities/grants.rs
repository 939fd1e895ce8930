//! Entities that reputation is given for.

use db::Conn;
use uuid::Uuid;

use crate::auth::perspective::Perspective;
use crate::error::Result;
use crate::features::entities::store::EntityRow;
use crate::features::entities::visibility;
use crate::features::entities::write::notify::{self, OPEN_ENTITY};
use crate::features::grants::rules::TargetKind;
use crate::features::grants::targets::{GrantTarget, Target};
use crate::features::notifications::Subject;
use crate::tenancy::Project;
use crate::values::ids::EntityId;

#[derive(Debug)]
pub struct EntityGrants;

impl GrantTarget for EntityGrants {
    fn find(
        &self,
        c: &Conn<'_>,
        project: &Project,
        kind: TargetKind,
        id: Uuid,
        sender: Perspective,
    ) -> Option<Result<Option<Target>>> {
        if kind != TargetKind::Entity {
            return None;
        }
        let found = visibility::find(c, project, EntityId(id), sender);
        let target = |found: Option<EntityRow>| {
            let Some(entity) = found else { return Ok(None) };
            Ok(Some(Target {
                subject: Subject::Entity(entity.id),
                space: entity.space_id,
                conversation: None,
                action: OPEN_ENTITY,
                keys: notify::subject(c, project.id, &entity)?,
            }))
        };
        Some(found.and_then(target))
    }
}
