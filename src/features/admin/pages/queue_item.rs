//! One item of the queue: what it is, why it is here, who wrote it, and what can be done.

use maud::{Markup, html};

use crate::features::admin::layout::{csrf, or_dash, time};
use crate::features::admin::pages::users::TERMS;
use crate::features::admin::visit::Visit;
use crate::features::moderation::queue::QueueItem;
use crate::features::moderation::queue::model::{Author, Content, Match, Reporters};
use crate::values::time::Timestamp;

const DAY: i64 = 86_400_000;

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
            @for parent in one.thread.parents.iter().rev() { blockquote { (or_dash(parent.text.as_deref())) } }
            @match &one.content {
                Some(content) => (text(content, &one.matches)),
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

pub(super) fn text(content: &Content, matches: &[Match]) -> Markup {
    html! {
        @if let Some(title) = &content.title { h2 { (marked(title, "title", matches)) } }
        @if let Some(text) = &content.text { p.text { (marked(text, "content", matches)) } }
        @if content.title.is_none() && content.text.is_none() { p.hint { "(no text)" } }
    }
}

/// The text with what the rule found marked. Ranges of a text that was edited since may fit no longer.
fn marked(text: &str, field: &str, matches: &[Match]) -> Markup {
    let mut ranges: Vec<(usize, usize)> =
        matches.iter().filter(|m| m.field == field).map(|m| (m.start, m.end)).collect();
    ranges.sort_unstable();
    let mut parts = Vec::new();
    let mut at = 0;
    for (start, end) in ranges {
        let (Some(before), Some(found)) = (text.get(at..start), text.get(start..end)) else {
            continue;
        };
        parts.push((before, found));
        at = end;
    }
    html! { @for (before, found) in parts { (before) mark { (found) } } (text.get(at..).unwrap_or_default()) }
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

fn actions(visit: &Visit, here: &str, one: &QueueItem) -> Markup {
    html! {
        form.actions method="post" action=(here) {
            (csrf(visit)) input type="hidden" name="item" value=(one.id);
            label { "Reason" input name="reason" maxlength="1000"; }
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
