//! The memberships of one user, with their spaces.

use db::{Builder, Conn, Query};

use crate::error::Result;
use crate::features::spaces::list::store::order::SortBy;
use crate::features::spaces::rules::{Role, Status};
use crate::http::page::Page;
use crate::values::ids::{MemberId, ProjectId, SpaceId, UserId};

const FROM: &str = "FROM space_members m CROSS JOIN spaces s";

#[derive(Debug)]
pub struct Memberships {
    pub project: ProjectId,
    pub user: UserId,
    pub status: Status,
    /// Empty: any.
    pub roles: Vec<Role>,
    pub order: Order,
}

#[derive(Debug, Clone, Copy)]
pub enum Order {
    /// The newest membership comes first.
    LastJoined,
    Spaces(SortBy),
}

impl Order {
    const fn text(self) -> &'static str {
        match self {
            Order::LastJoined => "m.joined_at DESC, s.id",
            Order::Spaces(sort) => sort.order(),
        }
    }
}

impl Memberships {
    /// A page of them, or all.
    pub fn page(&self, c: &Conn<'_>, page: Option<Page>) -> Result<Vec<(MemberId, SpaceId)>> {
        let slice = match page {
            Some(page) => format!(" LIMIT {} OFFSET {}", page.limit, page.offset()),
            None => String::new(),
        };
        let (conditions, order) = (self.conditions(), self.order.text());
        let text = format!("SELECT m.id, s.id {FROM} WHERE {conditions} ORDER BY {order}{slice}");
        let query = Query::<(MemberId, SpaceId)>::built("spaces::mine::page", text);
        Ok(c.all(&query, conditions.args())?)
    }

    pub fn count(&self, c: &Conn<'_>) -> Result<i64> {
        let conditions = self.conditions();
        let text = format!("SELECT count(*) {FROM} WHERE {conditions}");
        Ok(c.one(&Query::<i64>::built("spaces::mine::count", text), conditions.args())?)
    }

    fn conditions(&self) -> Builder<'static> {
        let mut conditions =
            Builder::all([self.project.into(), self.user.into(), self.status.into()]);
        conditions.add("m.project_id = $1 AND m.user_id = $2 AND m.status = $3");
        if !self.roles.is_empty() {
            let ranks = conditions.bind_all(self.roles.iter().map(|role| role.rank().into()));
            conditions.add(format_args!("m.rank IN ({ranks})"));
        }
        conditions.add("s.project_id = $1 AND s.id = m.space_id AND s.deleted_at IS NULL");
        conditions
    }
}
