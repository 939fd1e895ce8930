//! Projects: the tenants. Everything else belongs to exactly one of them.

pub mod bundles;
pub mod keys;
pub mod registry;
pub mod store;

pub use bundles::Bundle;
pub use registry::{Deletion, Project, ProjectState, Subscription};

use crate::error::faults;

faults! {
    pub INVALID_PROJECT_ID = 400 "project/invalid-project-id": "The project id must be a UUID";
    pub NOT_FOUND = 404 "project/not-found": "No such project";
    pub PENDING_DELETION = 423 "project/pending-deletion": "The project is being deleted";
    pub MIGRATING = 503 "project/migrating": "The project is under maintenance";
    pub TABLES_NOT_AVAILABLE = 403 "database/tables-not-available":
        "The project lacks a bundle this needs";
}
