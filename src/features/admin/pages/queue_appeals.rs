//! Appeals in the queue: the first decision, what was removed, and what its author says about it.

use maud::{Markup, html};

use crate::error::Result;
use crate::features::admin::layout::{csrf, or_dash, time};
use crate::features::admin::pages::queue_item::{author_line, reason, text};
use crate::features::admin::visit::Visit;
use crate::features::moderation::appeals::{self, AppealItem, OpenAppeals};
use crate::features::moderation::decisions::Verdict;

/// The filter that shows nothing but appeals.
pub(super) const KIND: &str = "appeal";
/// What comes before the id of an appeal where an item is named.
pub(super) const PREFIX: &str = "appeal:";
const SHOWN: i64 = 20;
const NOTHING_LEFT: &str = "There is nothing left to restore: the content is gone or visible again, or the ban has ended. \
    Taking the decision back takes the strike back and notifies the author.";

/// Before everything, and where appeals alone are shown. Behind the last one come reports, whose cursor is another.
fn are_shown(visit: &Visit) -> bool {
    let is_filtered = ["target", "reason", "space", "claim", "rule", "author", "q"]
        .iter()
        .any(|name| visit.query(name).is_some());
    let is_among = visit.query("after").is_none_or(|after| after.starts_with(PREFIX));
    !is_filtered && is_among && visit.query("kind").is_none_or(|kind| kind == KIND)
}

pub(super) async fn load(visit: &Visit) -> Result<OpenAppeals> {
    if !are_shown(visit) {
        return Ok(OpenAppeals::default());
    }
    let (project, operator, now) = (visit.project()?.id, visit.who.operator.id, visit.now);
    let after = visit.query("after").and_then(|after| after.strip_prefix(PREFIX)?.parse().ok());
    let found = visit
        .app
        .db
        .read_slow(move |c| appeals::open(c, project, Some(operator), after, SHOWN, now));
    found.await
}

pub(super) fn item(visit: &Visit, here: &str, one: &AppealItem) -> Markup {
    let project = here.split('/').nth(3).unwrap_or_default();
    let first = &one.decision;
    let id = format!("{PREFIX}{}", one.id);
    let claimed = one.claim.as_ref().filter(|claim| claim.operator != visit.who.operator.id);
    html! {
        li.item tabindex="-1" data-item=(id) data-author=[one.author.as_ref().map(|author| author.user)] {
            p.by { strong { "appeal" } " against " (first.action.name()) " " (first.target_type.name()) " · " (time(one.created_at))
                @if let Some(claim) = claimed { " · " strong { (claim.name) " works on it" } } }
            @if one.is_own { p.notice { "You made this decision. Leave it to somebody else if you can." } }
            p { (first.decided_by) " decided " (time(first.decided_at)) ": " (or_dash(first.reason.as_deref()))
                @if let Some(end) = first.ends_at { " · until " (time(end)) } }
            @if let Some(space) = first.space_id.filter(|_| first.action == Verdict::Ban) {
                p { "From the space " a href={ "/admin/p/" (project) "/spaces/" (space) } { (space) } }
            }
            @if one.is_undone { p.notice { (NOTHING_LEFT) } }
            @if let Some(content) = &one.content { (text(project, content, &[])) }
            blockquote { (one.text) }
            @if let Some(author) = &one.author { (author_line(project, author, visit.now)) }
            form.actions method="post" action=(here) {
                (csrf(visit)) input type="hidden" name="item" value=(id);
                (reason("Answer, for the author"))
                button name="do" value="approve" { "Take the decision back" }
                button.danger name="do" value="remove" { "Let the decision stand" }
            }
        }
    }
}
