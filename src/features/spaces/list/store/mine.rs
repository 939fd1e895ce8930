//! The memberships of one user, with their spaces.

use db::{Conn, Query, Value};

use crate::error::Result;
use crate::features::spaces::list::store::order::SortBy;
use crate::features::spaces::rules::{Role, Status};
use crate::http::page::Page;
use crate::values::ids::{MemberId, ProjectId, SpaceId, UserId};

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
        let (from, order) = (self.from(), self.order.text());
        let text = format!("SELECT m.id, s.id {from} ORDER BY {order}{slice}");
        let query = Query::<(MemberId, SpaceId)>::built("spaces::mine::page", text);
        Ok(c.all(&query, &self.args())?)
    }

    pub fn count(&self, c: &Conn<'_>) -> Result<i64> {
        let text = format!("SELECT count(*) {}", self.from());
        Ok(c.one(&Query::<i64>::built("spaces::mine::count", text), &self.args())?)
    }

    fn args(&self) -> Vec<Value<'static>> {
        let mut args = vec![self.project.into(), self.user.into(), self.status.into()];
        args.extend(self.roles.iter().map(|role| Value::from(role.rank())));
        args
    }

    fn from(&self) -> String {
        let places: Vec<String> = (4..).take(self.roles.len()).map(|n| format!("${n}")).collect();
        let of_role = match places.is_empty() {
            true => String::new(),
            false => format!(" AND m.rank IN ({})", places.join(", ")),
        };
        format!(
            "FROM space_members m CROSS JOIN spaces s
             WHERE m.project_id = $1 AND m.user_id = $2 AND m.status = $3{of_role}
                AND s.project_id = $1 AND s.id = m.space_id AND s.deleted_at IS NULL"
        )
    }
}
