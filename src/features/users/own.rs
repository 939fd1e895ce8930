//! The user as they see themselves.

use db::Conn;

use crate::auth::store::suspensions;
use crate::error::Result;
use crate::features::users::model::AuthUser;
use crate::features::users::pictures;
use crate::features::users::store::{self, UserRow};
use crate::storage::signed::Links;
use crate::tenancy::{Bundle, Project};
use crate::values::time::Timestamp;

pub fn auth_user(
    c: &Conn<'_>,
    project: &Project,
    links: &Links,
    row: &UserRow,
    now: Timestamp,
) -> Result<AuthUser> {
    let suspensions = if project.has(Bundle::Moderation) {
        suspensions::active(c, project.id, row.id, now)?
    } else {
        Vec::new()
    };
    let providers = store::providers(c, project.id, row.id)?;
    AuthUser::new(links, row, pictures::load(c, links, row)?, suspensions, providers)
}
