//! Projects: the tenants. Everything else belongs to exactly one of them.

pub mod bundles;
pub mod keys;
pub mod registry;
pub mod store;

pub use bundles::Bundle;
pub use registry::{Deletion, Project, ProjectState};

use crate::error::Fault;

pub const INVALID_PROJECT_ID: Fault =
    Fault::new(400, "project/invalid-project-id", "The project id must be a UUID");
pub const NOT_FOUND: Fault = Fault::new(404, "project/not-found", "No such project");
pub const PENDING_DELETION: Fault =
    Fault::new(423, "project/pending-deletion", "The project is being deleted");
pub const MIGRATING: Fault =
    Fault::new(503, "project/migrating", "The project is under maintenance");
pub const TABLES_NOT_AVAILABLE: Fault =
    Fault::new(403, "database/tables-not-available", "The project lacks a bundle this needs");
