//! Collections: a user's own tree of folders for saved entities. Other users and other projects get 404.

mod contents;
mod lists;
mod model;
mod root;
pub mod rules;
mod save;
mod saved;
pub mod store;
mod tree;

use http::Method;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::error::{Fault, faults};
use crate::features::{entities, users};
use crate::http::input::Invalid;
use crate::http::operation::{ActsAs, Operation};
use crate::rate_limits::RateLimit;
use crate::tenancy::Bundle;
use crate::values::ids::CollectionId;

faults! {
    NOT_FOUND = 404 "collection/not-found": "Collection not found";
    INVALID_PARENT = 400 "collection/invalid-parent": "Invalid parent collection";
    NAME_TAKEN = 409 "collection/name-taken": "There is a collection of this name already";
    MISSING_USER_ID = 400 "collection/missing-user-id": "A key must name the user in userId";
    INVALID_PARAMS = 400 "collection/invalid-params": "Invalid path parameters";
    INVALID_QUERY = 400 "collection/invalid-query": "Invalid query";
    INVALID_BODY = 400 "collection/invalid-body": "Invalid body";
    INVALID_ENTITY_ID = 400 "collection/invalid-entity-id": "Invalid entity id";

    LIST_NOT_FOUND = 404 "list/not-found": "List not found";
    LIST_INVALID_PARENT = 400 "list/invalid-parent": "Invalid parent list ID for sub-list";
    LIST_NAME_TAKEN = 409 "list/name-taken": "There is a list of this name already";
    LIST_MISSING_DATA = 400 "list/missing-data": "Missing data";
    LIST_MISSING_USER = 400 "list/missing-data": "Missing userId";
    LIST_MISSING_PARAMS = 400 "list/missing-params": "Missing list ID";
    LIST_MISSING_PARAMETERS = 400 "list/missing-parameters":
        "Missing required parameters in request body";
    LIST_BLANK_NAME = 400 "list/blank-name": "Cannot set the name to blank";
    LIST_INVALID_ID = 400 "list/invalid-id": "Missing list ID";
    LIST_INVALID_ENTITY_ID = 400 "list/invalid-entity-id": "Missing or invalid entityId in query";
    LIST_ENTITY_EXISTS = 409 "list/entity-exists": "Entity already exists in the list";
    LIST_ENTITY_NOT_FOUND = 409 "list/entity-not-found": "Entity does not exist in the list";
}

const INVALID: Invalid =
    Invalid { params: INVALID_PARAMS, query: INVALID_QUERY, ..Invalid::all(INVALID_BODY) };

/// Faults that collections and v6 lists name differently.
#[derive(Debug, Clone, Copy)]
struct Faults {
    not_found: Fault,
    invalid_parent: Fault,
    name_taken: Fault,
}

const FAULTS: Faults =
    Faults { not_found: NOT_FOUND, invalid_parent: INVALID_PARENT, name_taken: NAME_TAKEN };
const LIST_FAULTS: Faults = Faults {
    not_found: LIST_NOT_FOUND,
    invalid_parent: LIST_INVALID_PARENT,
    name_taken: LIST_NAME_TAKEN,
};

/// A key acts as the user it names; the parameter is ignored for a user's token.
const ACTS_AS: ActsAs = ActsAs {
    parameter: "userId",
    missing: MISSING_USER_ID,
    unknown: users::NOT_FOUND,
    other: None,
};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct CollectionPath {
    collection_id: CollectionId,
}

pub fn operations() -> Vec<Operation> {
    let collections = [trees(), contents()].into_iter().flatten();
    let collections = collections.map(|one| one.acts_as(ACTS_AS));
    let lists = lists()
        .into_iter()
        .map(|one| one.acts_as(ActsAs { missing: LIST_MISSING_USER, ..ACTS_AS }));
    collections.chain(lists).map(|one| one.bundle(Bundle::Collections)).collect()
}

fn trees() -> Vec<Operation> {
    let (get, feature) = (Method::GET, "collection");
    let below = "/collections/{collectionId}/sub-collections";
    let one = "/collections/{collectionId}";
    vec![
        Operation::new(
            get.clone(),
            "/collections/root",
            "Fetch Root Collection",
            feature,
            INVALID,
            root::fetch_root,
        ),
        Operation::new(
            get,
            below,
            "Fetch Sub-Collections",
            feature,
            INVALID,
            tree::fetch_sub_collections,
        ),
        Operation::new(
            Method::POST,
            below,
            "Create Sub-Collection",
            feature,
            INVALID,
            tree::create_sub_collection,
        )
        .errors(&[INVALID_PARENT, NAME_TAKEN]),
        Operation::new(
            Method::PATCH,
            one,
            "Rename Collection",
            feature,
            INVALID,
            tree::rename_collection,
        )
        .errors(&[NOT_FOUND, NAME_TAKEN]),
        Operation::new(
            Method::DELETE,
            one,
            "Delete Collection",
            feature,
            INVALID,
            tree::delete_collection,
        )
        .errors(&[NOT_FOUND]),
    ]
}

fn contents() -> Vec<Operation> {
    let (get, feature) = (Method::GET, "collection");
    let inside = "/collections/{collectionId}/entities";
    vec![
        Operation::new(
            get.clone(),
            inside,
            "Fetch Collection Entities",
            feature,
            INVALID,
            contents::fetch_entities,
        )
        .errors(&[NOT_FOUND]),
        Operation::new(
            Method::POST,
            inside,
            "Add Entity to Collection",
            feature,
            INVALID,
            save::add_entity,
        )
        .errors(&[NOT_FOUND, entities::NOT_FOUND]),
        Operation::new(
            Method::DELETE,
            "/collections/{collectionId}/entities/{entityId}",
            "Remove Entity from Collection",
            feature,
            INVALID,
            save::remove_entity,
        )
        .errors(&[NOT_FOUND]),
        Operation::new(
            get.clone(),
            "/entities/is-entity-saved",
            "Is Entity Saved",
            feature,
            Invalid::all(INVALID_ENTITY_ID),
            saved::is_entity_saved,
        )
        .rate(SAVED_RATE),
        Operation::new(
            get,
            "/collections/is-entity-saved",
            "Is Entity Saved in Collections",
            feature,
            INVALID,
            saved::is_entity_saved,
        )
        .rate(SAVED_RATE),
    ]
}

const SAVED_RATE: RateLimit = RateLimit::per_5_minutes(250);

/// The v6 endpoints, with names and faults of their own.
fn lists() -> Vec<Operation> {
    let (get, patch, feature) = (Method::GET, Method::PATCH, "list");
    let (one, below) = ("/lists/{listId}", "/lists/{listId}/sub-lists");
    let missing_data = Invalid::all(LIST_MISSING_DATA);
    vec![
        Operation::new(
            get.clone(),
            "/lists/root",
            "Fetch Root List",
            feature,
            missing_data,
            lists::fetch_root,
        ),
        Operation::new(
            get.clone(),
            below,
            "Fetch Sub-Lists",
            feature,
            Invalid::all(LIST_MISSING_PARAMS),
            lists::fetch_sub_lists,
        ),
        Operation::new(
            Method::POST,
            below,
            "Create Sub-List",
            feature,
            Invalid { params: LIST_INVALID_PARENT, ..Invalid::all(LIST_MISSING_PARAMETERS) },
            lists::create_sub_list,
        )
        .errors(&[LIST_INVALID_PARENT, LIST_NAME_TAKEN]),
        Operation::new(
            patch.clone(),
            "/lists/{listId}/add-entity",
            "Add Entity to List",
            feature,
            missing_data,
            lists::add_entity,
        )
        .errors(&[LIST_NOT_FOUND, entities::NOT_FOUND, LIST_ENTITY_EXISTS]),
        Operation::new(
            patch.clone(),
            "/lists/{listId}/remove-entity",
            "Remove Entity from List",
            feature,
            missing_data,
            lists::remove_entity,
        )
        .errors(&[LIST_NOT_FOUND, LIST_ENTITY_NOT_FOUND]),
        Operation::new(patch, one, "Update List", feature, missing_data, lists::update_list)
            .errors(&[LIST_NOT_FOUND, LIST_BLANK_NAME, LIST_NAME_TAKEN]),
        Operation::new(
            Method::DELETE,
            one,
            "Delete List",
            feature,
            Invalid::all(LIST_INVALID_ID),
            lists::delete_list,
        )
        .errors(&[LIST_NOT_FOUND]),
        Operation::new(
            get,
            "/lists/is-entity-saved",
            "Is Entity Saved in Lists",
            feature,
            Invalid::all(LIST_INVALID_ENTITY_ID),
            lists::is_entity_saved,
        )
        .rate(SAVED_RATE),
    ]
}
