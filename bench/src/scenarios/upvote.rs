//! Upvote Entity under `/v6`: users at random upvote entities at random, seldom the same twice.

use crate::dice::Dice;
use crate::fixture::Fixture;
use crate::scenario::Scenario;
use crate::scenarios::add_reaction::{self, DRAWN, REACTORS};
use crate::server::send;

pub const SCENARIO: Scenario = Scenario {
    name: "v6-upvote",
    about: "PATCH /v6 /entities/:id/upvote, any of 10,000 users on any of the entities",
    // 409 for a second upvote of the same user.
    expected_status: &[200, 409],
    requests,
    bare: add_reaction::TO_ENTITIES.bare,
};

fn requests(fixture: &Fixture) -> Vec<Vec<u8>> {
    let (project, all) = (fixture.project, fixture.entities);
    let voters = fixture.users.iter().take(REACTORS);
    let tokens: Vec<String> = voters.map(|user| fixture.token(*user)).collect();
    let mut dice = Dice::new(5);
    let mut request = || {
        let path = format!("/v6/{project}/entities/{}/upvote", all.id(dice.draw(all.count)));
        send("PATCH", &path, &tokens[dice.draw(tokens.len())], "{}")
    };
    (0..DRAWN).map(|_| request()).collect()
}
