//! Rules that check what users write, before it is stored: words, patterns, links, new accounts, rate, repeated texts,
//! first posts. A rule flags, holds or removes what it matches, or warns the author; in shadow it only notes what it
//! would have done. Projects without rules pay nothing for them.

mod backtest;
mod compile;
mod manage;
pub mod model;
mod screen;
pub mod store;

pub use backtest::{Backtest, Sample, backtest};
pub use compile::{CompiledRule, RuleSet};
pub use manage::{
    Saved, add, create, delete, find, list, order_rules, remove, reorder, replace, shadow_hits,
    update,
};
pub use model::{Condition, InvalidField, LinkMode, NewRule, Rule, RuleAction, RuleState};
pub use screen::Rules;
