//! One item of the queue: what it is, why it is here, who wrote it, and what can be done.

use maud::{Markup, html};

use crate::features::admin::layout::{csrf, or_dash, time};
use crate::features::admin::pages::users::TERMS;
use crate::features::admin::visit::Visit;
use crate::features::moderation::queue::QueueItem;
use crate::features::moderation::queue::model::{Author, Content, Match, Reporters};
use crate::values::time::Timestamp;

const DAY: i64 = 86_400_000;
/// Bytes of a text in the queue, and of what it replies to: pages stay small.
const SHOWN_BYTES: usize = 1_000;
const SHOWN_OF_PARENT: usize = 200;

pub(super) fn item(visit: &Visit, here: &str, one: &QueueItem) -> Markup {
    let project = here.split('/').nth(3).unwrap_or_default();
    let claimed = one.claim.as_ref().filter(|claim| claim.operator != visit.who.operator.id);
    html! {
        li.item tabindex="-1" data-item=(one.id) data-author=[one.author.as_ref().map(|author| author.user)] {
            p.by {
                strong { (one.kind.name()) } " " (one.target.kind.name()) " · " (time(one.created_at))
                @if let Some(space) = &one.space { " · in " (space.name) }
                @if let Some(claim) = claimed { " · " strong { (claim.name) " works on it" } }
            }
            @if let Some(title) = &one.thread.entity_title { p.hint { "Below: " (title) } }
            @for parent in one.thread.parents.iter().rev() { blockquote { (beginning(parent.text.as_deref())) } }
            @match &one.content {
                Some(content) => (text(project, content, &one.matches)),
                None => p.hint { "The content is gone." },
            }
            @for file in &one.images {
                p { img.blurred loading="lazy" alt="Attached image, blurred" src={ "/admin/p/" (project) "/files/" (file) };
                    button.quiet type="button" data-show="" { "Show" } }
            }
            (reasons(&one.reporters))
            @if let Some(author) = &one.author { (author_line(project, author, visit.now)) }
            (actions(visit, here, one))
        }
    }
}

/// Title and text. Of a long one what is around the first match, or its beginning.
pub(super) fn text(project: &str, content: &Content, matches: &[Match]) -> Markup {
    html! {
        @if let Some(title) = &content.title { h2 { (marked(title, "title", matches)) } }
        @if let Some(text) = &content.text { p.text { (marked(text, "content", matches)) } }
        @if let (true, Some(entity)) = (is_long(content), content.entity) {
            p { a href={ "/admin/p/" (project) "/content/" (entity) } { "The whole text" } }
        }
        @if content.title.is_none() && content.text.is_none() { p.hint { "(no text)" } }
    }
}

/// The text with what the rule found marked. Ranges of a text that was edited since may fit no longer.
fn marked(text: &str, field: &str, matches: &[Match]) -> Markup {
    let mut ranges: Vec<(usize, usize)> =
        matches.iter().filter(|m| m.field == field).map(|m| (m.start, m.end)).collect();
    ranges.sort_unstable();
    let (from, to) = shown_part(text, ranges.first().copied());
    let mut parts = Vec::new();
    let mut at = from;
    for (start, end) in ranges.into_iter().filter(|(_, end)| *end <= to) {
        let (Some(before), Some(found)) = (text.get(at..start), text.get(start..end)) else {
            continue;
        };
        parts.push((before, found));
        at = end;
    }
    html! {
        @if from > 0 { "… " }
        @for (before, found) in parts { (before) mark { (found) } } (text.get(at..to).unwrap_or_default())
        @if to < text.len() { " …" }
    }
}

fn is_long(content: &Content) -> bool {
    content.text.as_ref().is_some_and(|text| text.len() > SHOWN_BYTES)
}

/// From where to where a text is shown: with the first match in it.
fn shown_part(text: &str, first: Option<(usize, usize)>) -> (usize, usize) {
    if text.len() <= SHOWN_BYTES {
        return (0, text.len());
    }
    let from = first.map_or(0, |(start, _)| start.saturating_sub(SHOWN_BYTES / 2));
    let from = text.floor_char_boundary(from.min(text.len() - SHOWN_BYTES));
    (from, text.floor_char_boundary(from + SHOWN_BYTES))
}

/// The beginning of a text that is of less interest.
fn beginning(text: Option<&str>) -> &str {
    let text = or_dash(text);
    &text[..text.floor_char_boundary(SHOWN_OF_PARENT)]
}

fn reasons(reporters: &Reporters) -> Markup {
    html! {
        @if reporters.count > 0 {
            p { (reporters.count) " reports: "
                @for (n, (reason, count)) in reporters.reasons.iter().enumerate() { @if n > 0 { ", " } (reason) " " (count) } }
            details { summary { "Reporters" } ul { @for one in &reporters.first { li {
                (or_dash(one.name.as_deref().or(one.username.as_deref()))) " (" (one.actioned) " of " (one.handled) " right): " (one.reason)
                @if let Some(details) = &one.details { " – " (details) }
            } } } }
        }
    }
}

pub(super) fn author_line(project: &str, author: &Author, now: Timestamp) -> Markup {
    let days = (now.millis() - author.created_at.millis()) / DAY;
    html! {
        p { "By " a href={ "/admin/p/" (project) "/users/" (author.user) } {
                (or_dash(author.name.as_deref().or(author.username.as_deref()))) }
            " · " (days) " days here · " (author.strikes) " strikes"
            @if author.is_suspended { " · " strong { "suspended" } } }
        @if !author.decisions.is_empty() { details { summary { "Last decisions" } ul {
            @for one in &author.decisions { li { (one.action.name()) " " (time(one.decided_at)) " " (or_dash(one.reason.as_deref())) } }
        } } }
    }
}

/// The reason that the author gets. A disabled button comes first, so that Enter in the field decides nothing.
pub(super) fn reason(label: &str) -> Markup {
    html! {
        button disabled hidden {}
        label.reason { (label) input name="reason" maxlength="1000"; }
    }
}

fn actions(visit: &Visit, here: &str, one: &QueueItem) -> Markup {
    html! {
        form.actions method="post" action=(here) {
            (csrf(visit)) input type="hidden" name="item" value=(one.id);
            (reason("Reason, for the author"))
            button name="do" value="approve" { "Approve" }
            button.danger name="do" value="remove" { "Remove" }
            @if one.author.is_some() {
                label { "Suspend for" select name="term" { @for (value, name, _) in TERMS { option value=(value) { (name) } } } }
                button.danger name="do" value="suspend" { "Suspend" }
                button name="do" value="warn" { "Warn" }
            }
        }
    }
}
