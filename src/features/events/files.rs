//! Files that are attached to events.

use db::Conn;

use crate::auth::caller::ActorOrKey;
use crate::auth::perspective::Perspective;
use crate::error::Result;
use crate::features::events::visibility;
use crate::features::files::holders::{FileHolder, Holder};
use crate::features::files::store::FileRow;
use crate::features::files::{TARGET_NOT_FOUND, UNAUTHORIZED};
use crate::tenancy::Project;
use crate::values::ids::UserId;

#[derive(Debug)]
pub struct EventFiles;

impl FileHolder for EventFiles {
    fn may_attach(
        &self,
        c: &Conn<'_>,
        project: &Project,
        caller: ActorOrKey,
        holder: Holder,
    ) -> Option<Result<()>> {
        let Holder::Event(id) = holder else { return None };
        let perspective = Perspective::from(caller);
        Some(visibility::find(c, project, id, perspective).and_then(|found| {
            found.ok_or(TARGET_NOT_FOUND)?;
            let may = visibility::hosts(c, project, id, perspective)?;
            if may { Ok(()) } else { Err(UNAUTHORIZED.into()) }
        }))
    }

    fn may_see(
        &self,
        c: &Conn<'_>,
        project: &Project,
        viewer: UserId,
        file: &FileRow,
    ) -> Option<Result<bool>> {
        let Holder::Event(id) = Holder::of(file) else { return None };
        let found = visibility::find(c, project, id, Perspective::User(viewer));
        Some(found.map(|found| found.is_some()))
    }
}
