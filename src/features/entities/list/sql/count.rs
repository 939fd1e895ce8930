//! Counts up to a bound, of what a list could begin with.

use db::{Conn, Query, args};
use uuid::Uuid;

use crate::error::Result;
use crate::features::entities::list::sql::Around;
use crate::features::entities::list::start::FEW;
use crate::values::ids::{ProjectId, UserId};

pub fn count_term(c: &Conn<'_>, project: ProjectId, term: Uuid) -> Result<i64> {
    let text = format!(
        "SELECT count(*) FROM (SELECT 1 FROM entity_terms t
            WHERE t.project_id = $1 AND t.term = $2 LIMIT {FEW}) AS few"
    );
    let query = Query::<i64>::built("entities::list::count_term", text);
    Ok(c.one(&query, args![project, term])?)
}

pub fn count_wide(c: &Conn<'_>, project: ProjectId) -> Result<i64> {
    let text = format!(
        "SELECT count(*) FROM (SELECT 1 FROM entities e
            WHERE e.project_id = $1 AND e.is_wide LIMIT {FEW}) AS few"
    );
    let query = Query::<i64>::built("entities::list::count_wide", text);
    Ok(c.one(&query, args![project])?)
}

pub fn count_followed(c: &Conn<'_>, project: ProjectId, user: UserId) -> Result<i64> {
    let text = format!(
        "SELECT count(*) FROM (SELECT 1 FROM follows f CROSS JOIN entities e
            WHERE f.project_id = $1 AND f.follower_id = $2
                AND e.project_id = $1 AND e.user_id = f.followed_id LIMIT {FEW}) AS few"
    );
    let query = Query::<i64>::built("entities::list::count_followed", text);
    Ok(c.one(&query, args![project, user])?)
}

pub fn count_place(c: &Conn<'_>, project: ProjectId, around: &Around) -> Result<i64> {
    let text = format!(
        "SELECT count(*) FROM (SELECT 1 FROM entities e
            WHERE e.project_id = $1 AND e.is_listed AND e.latitude IS NOT NULL
                AND e.latitude BETWEEN $2 AND $3 LIMIT {FEW}) AS few"
    );
    let query = Query::<i64>::built("entities::list::count_place", text);
    Ok(c.one(&query, args![project, around.south, around.north])?)
}
