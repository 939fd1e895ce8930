//! One SQL text, two engines.
