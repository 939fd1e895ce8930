//! Files that are attached to spaces.

use db::Conn;

use crate::auth::caller::ActorOrKey;
use crate::error::Result;
use crate::features::files::holders::{FileHolder, Holder};
use crate::features::files::store::FileRow;
use crate::features::files::{TARGET_NOT_FOUND, UNAUTHORIZED};
use crate::features::spaces::authority::{self, Authority};
use crate::features::spaces::store;
use crate::tenancy::Project;
use crate::values::ids::UserId;

#[derive(Debug)]
pub struct SpaceFiles;

impl FileHolder for SpaceFiles {
    fn may_attach(
        &self,
        c: &Conn<'_>,
        project: &Project,
        caller: ActorOrKey,
        holder: Holder,
    ) -> Option<Result<()>> {
        let Holder::Space(id) = holder else { return None };
        Some(store::find(c, project.id, id).and_then(|found| {
            let space = found.ok_or(TARGET_NOT_FOUND)?;
            let authority = authority::authority(c, project.id, &space, caller)?;
            if authority >= Authority::Moderator { Ok(()) } else { Err(UNAUTHORIZED.into()) }
        }))
    }

    /// Every space that exists is visible to everybody.
    fn may_see(
        &self,
        c: &Conn<'_>,
        project: &Project,
        _: UserId,
        file: &FileRow,
    ) -> Option<Result<bool>> {
        let Holder::Space(id) = Holder::of(file) else { return None };
        Some(store::find(c, project.id, id).map(|found| found.is_some()))
    }
}
