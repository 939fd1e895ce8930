//! How much of its subject a reply shows.

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Detail {
    /// The documented fields.
    #[default]
    Documented,
    /// Also fields that only a translation of the reply uses.
    Whole,
}
