//! Fields of forms that several pages have.

use maud::{Markup, html};

use crate::error::{Error, Result};
use crate::features::admin::visit::{INVALID, Visit};

/// A line of text; what it held before is in it.
pub(super) fn text(label: &str, name: &str, value: Option<&str>) -> Markup {
    html! { label { (label) input name=(name) value=[value]; } }
}

/// A line of text that must be filled in.
pub(super) fn required(label: &str, name: &str, value: Option<&str>) -> Markup {
    html! { label { (label) input name=(name) value=[value] required; } }
}

/// Something secret: it is never shown again, and an empty field leaves it as it is.
pub(super) fn secret(label: &str, name: &str) -> Markup {
    html! { label { (label) input name=(name) type="password" autocomplete="off"; } }
}

/// Several lines; also for secrets that are files.
pub(super) fn lines(label: &str, name: &str, rows: u8, value: &str) -> Markup {
    html! { label { (label) textarea name=(name) rows=(rows) spellcheck="false" { (value) } } }
}

pub(super) fn check(label: &str, name: &str, is_on: bool) -> Markup {
    html! { label.check { input type="checkbox" name=(name) value="on" checked[is_on]; (label) } }
}

/// One of several values, each with its text.
pub(super) fn choice(label: &str, name: &str, values: &[(&str, &str)], chosen: &str) -> Markup {
    html! {
        label { (label) select name=(name) {
            @for (value, text) in values { option value=(value) selected[*value == chosen] { (text) } }
        } }
    }
}

/// What a form does, for pages with several.
pub(super) fn does(what: &str) -> Markup {
    html! { input type="hidden" name="do" value=(what); }
}

/// The lines of a field that are not empty.
pub(super) fn of_lines(visit: &Visit, name: &str) -> Vec<String> {
    let text = visit.field(name).unwrap_or_default();
    text.lines().map(str::trim).filter(|line| !line.is_empty()).map(ToOwned::to_owned).collect()
}

pub(super) fn owned(visit: &Visit, name: &str) -> Option<String> {
    visit.field(name).map(ToOwned::to_owned)
}

/// What a rule that the command line shares finds wrong. It names options; a page has fields.
pub(super) fn wrong(why: String) -> Error {
    INVALID.because(why.replace("--", ""))
}

/// Refuses what cannot be undone unless its name was typed.
pub(super) fn confirmed(visit: &Visit, name: &str) -> Result<()> {
    if visit.field("confirm") == Some(name) {
        return Ok(());
    }
    Err(INVALID.because(format!("Type `{name}` to confirm.")))
}
