//! `townhall moderation …`: the queue, decisions about its items, and rules.

use std::fmt::Write as _;

use clap::{Subcommand, ValueEnum};
use serde_json::json;

use crate::cli::moderation_rules::{self, RulesCommand};
use crate::cli::{Admin, CommandResult, Output, project_id};
use crate::features::moderation::Moderator;
use crate::features::moderation::appeals::{self, AppealItem};
use crate::features::moderation::decisions::{Action, Item, Outcome, Request, Suspend};
use crate::features::moderation::queue::{self, Filter, ItemKind, Order, QueueItem};
use crate::features::moderation::target::{Target, TargetKind};
use crate::tenancy::{self, NOT_FOUND};
use crate::values::ids::{AppealId, ProjectId, ReportId, parse_uuid};

/// Characters of a text in the table of the queue.
const SHOWN_TEXT: usize = 60;

#[derive(Debug, Subcommand)]
pub(super) enum ModerationCommand {
    /// Rules that check what users write
    #[command(subcommand)]
    Rules(RulesCommand),
    /// What waits for a moderator: appeals and reports, the oldest first
    Queue {
        #[arg(value_parser = project_id)]
        project: ProjectId,
        #[arg(long, value_enum)]
        kind: Option<Kind>,
        #[arg(long, default_value_t = 50, value_name = "N")]
        limit: u32,
    },
    /// Decide about items; it takes effect ten seconds later, while a server runs
    Decide {
        #[arg(value_parser = project_id)]
        project: ProjectId,
        /// The id of a report, appeal:ID, or content and users by entity:ID, comment:ID, message:ID, user:ID
        #[arg(required = true, value_parser = item)]
        items: Vec<Item>,
        /// Of an appeal, `approve` takes the decision back and `remove` lets it stand
        #[arg(long, value_enum)]
        action: Decided,
        /// How long a suspension lasts
        #[arg(long = "for", value_enum, default_value = "1d")]
        term: Term,
        /// For the author
        #[arg(long)]
        reason: Option<String>,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Kind {
    Reported,
    Flagged,
    Held,
    Appeal,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Decided {
    Approve,
    Remove,
    Warn,
    Suspend,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Term {
    #[value(name = "1d")]
    Day,
    #[value(name = "7d")]
    Week,
    #[value(name = "30d")]
    Month,
    Ever,
}

impl Kind {
    fn of_reports(self) -> Option<ItemKind> {
        match self {
            Kind::Reported => Some(ItemKind::Reported),
            Kind::Flagged => Some(ItemKind::Flagged),
            Kind::Held => Some(ItemKind::Held),
            Kind::Appeal => None,
        }
    }
}

impl Decided {
    fn action(self, term: Term) -> Action {
        match self {
            Decided::Approve => Action::Approve,
            Decided::Remove => Action::Remove,
            Decided::Warn => Action::Warn,
            Decided::Suspend => Action::Suspend(match term {
                Term::Day => Suspend::Day,
                Term::Week => Suspend::Week,
                Term::Month => Suspend::Month,
                Term::Ever => Suspend::Forever,
            }),
        }
    }
}

pub(super) fn run(command: ModerationCommand, admin: &Admin) -> CommandResult {
    match command {
        ModerationCommand::Rules(command) => moderation_rules::run(command, admin),
        ModerationCommand::Queue { project, kind, limit } => show(admin, project, kind, limit),
        ModerationCommand::Decide { project, items, action, term, reason } => {
            decide(admin, project, &items, action.action(term), reason.as_deref())
        }
    }
}

fn show(admin: &Admin, project: ProjectId, kind: Option<Kind>, limit: u32) -> CommandResult {
    let (now, limit) = (admin.world.clock.now(), i64::from(limit));
    let (appeals, page) = admin.read(move |c| {
        tenancy::store::find(c, project)?.ok_or(NOT_FOUND)?;
        let appeals = match kind {
            None | Some(Kind::Appeal) => appeals::open(c, project, None, None, limit, now)?,
            Some(_) => appeals::OpenAppeals::default(),
        };
        let page = match kind {
            Some(Kind::Appeal) => queue::Page::default(),
            _ => {
                let kinds = kind.and_then(Kind::of_reports).into_iter().collect();
                let filter = Filter { kinds, ..Filter::default() };
                queue::list(c, project, &filter, Order::Oldest, None, limit, now)?
            }
        };
        Ok((appeals, page))
    })?;
    let mut text = String::new();
    appeals.items.iter().for_each(|item| write_appeal(&mut text, item));
    page.items.iter().for_each(|item| write_report(&mut text, item));
    let more = if page.total_is_capped { "+" } else { "" };
    let _ = writeln!(text, "{} appeals, {}{more} reports", appeals.total, page.total);
    let json = json!({
        "appeals": appeals.items, "totalAppeals": appeals.total,
        "reports": page.items, "totalReports": page.total, "totalIsCapped": page.total_is_capped,
    });
    Ok(Output::new(text, json))
}

fn write_appeal(text: &mut String, item: &AppealItem) {
    let (action, kind) = (item.decision.action.name(), item.decision.target_type.name());
    let (id, at, said) = (item.id, item.created_at, short(Some(&item.text)));
    let _ = writeln!(text, "appeal:{id}  {at}  against {action} {kind}  {said}");
}

fn write_report(text: &mut String, item: &QueueItem) {
    let content = item.content.as_ref();
    let said = content.and_then(|content| content.title.as_ref().or(content.text.as_ref()));
    let (id, at, kind) = (item.id, item.created_at, item.kind.name());
    let (target, count, said) = (item.target.kind.name(), item.reporters.count, short(said));
    let _ = writeln!(text, "{id}  {at}  {kind:<8}  {target:<7}  {count:>3}  {said}");
}

/// The beginning, on one line.
fn short(text: Option<&String>) -> String {
    let words =
        text.map_or_else(String::new, |text| text.split_whitespace().collect::<Vec<_>>().join(" "));
    words.chars().filter(|letter| !letter.is_control()).take(SHOWN_TEXT).collect()
}

fn decide(
    admin: &Admin,
    project: ProjectId,
    items: &[Item],
    action: Action,
    reason: Option<&str>,
) -> CommandResult {
    let by = Moderator { operator: None, name: "command line".to_owned() };
    let made = (admin.world.clock.now(), &admin.world.random);
    let request =
        Request::new(project, &by, items, (action, reason), made).map_err(super::plain)?;
    let outcome = admin.write(move |tx| {
        tenancy::store::find(tx, project)?.ok_or(NOT_FOUND)?;
        request.record(tx)
    })?;
    let Outcome { decided, refused } = &outcome;
    let mut text = String::new();
    for one in decided {
        let (action, kind, target) = (one.action.name(), one.target_type.name(), one.target_id);
        let _ = writeln!(text, "{}  {action} {kind} {target} at {}", one.id, one.apply_at);
    }
    for one in refused {
        let _ = writeln!(text, "refused: {}", json!(one));
    }
    let failed = !refused.is_empty();
    Ok(Output { failed, ..Output::new(text, json!(outcome)) })
}

fn item(text: &str) -> Result<Item, String> {
    let wrong = || {
        "must be the id of a report, or appeal:ID, entity:ID, comment:ID, message:ID, user:ID"
            .to_owned()
    };
    let (kind, id) = text.split_once(':').unwrap_or(("report", text));
    let id = parse_uuid(id).ok_or_else(wrong)?;
    let target = |kind| Item::Target(Target { kind, id });
    Ok(match kind {
        "report" => Item::Report(ReportId(id)),
        "appeal" => Item::Appeal(AppealId(id)),
        "entity" => target(TargetKind::Entity),
        "comment" => target(TargetKind::Comment),
        "message" => target(TargetKind::Message),
        "user" => target(TargetKind::User),
        _ => return Err(wrong()),
    })
}
