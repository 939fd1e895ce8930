//! The rules as a table, and on random trees against a slow model that follows the words of the contract.

use std::collections::BTreeSet;

use proptest::prelude::*;
use uuid::Uuid;

use super::*;
use crate::features::workspaces::capabilities::MAX_RANK;

const ME: UserId = UserId(Uuid::from_u128(1));
const OTHER: UserId = UserId(Uuid::from_u128(2));

fn workspace(n: usize) -> WorkspaceId {
    WorkspaceId(Uuid::from_u128(100 + n as u128))
}

fn capabilities(given: &[Capability]) -> Capabilities {
    Capabilities::from(given.to_vec())
}

/// A line of workspaces: `.` does not inherit, `+` does; a capital `O` is owned by me and does not inherit.
fn line(text: &str) -> Vec<Node> {
    let node = |(n, c): (usize, char)| Node {
        id: workspace(n),
        owner: if c == 'O' { ME } else { OTHER },
        inherits: c == '+',
    };
    text.chars().enumerate().map(node).collect()
}

fn member_of(
    at: &[usize],
    given: &[Capability],
    rank: i64,
) -> impl Fn(WorkspaceId) -> Option<Grant> {
    let at: Vec<WorkspaceId> = at.iter().map(|n| workspace(*n)).collect();
    let permissions = Permissions::try_from(vec!["deploy".to_owned()]).unwrap();
    let grant = Grant { capabilities: capabilities(given), permissions, rank };
    move |id| at.contains(&id).then(|| grant.clone())
}

#[test]
fn authority_by_where_it_comes_from() {
    use Capability::{Invite, View};
    // The line from the root, where I am a member with `invite`, whether I see the last one, whether I may invite there,
    // whether I own it or one above.
    let table: [(&str, &[usize], bool, bool, bool); 16] = [
        (".", &[], false, false, false),
        (".", &[0], true, true, false),
        ("O", &[], true, true, true),
        // A membership reaches down while the flags allow it.
        (".+", &[0], true, true, false),
        ("..", &[0], false, false, false),
        (".++", &[0], true, true, false),
        ("..+", &[0], false, false, false),
        (".+.", &[0], false, false, false),
        ("..+", &[1], true, true, false),
        // The flag of the workspace with the membership does not matter, nor that of the root.
        ("+.", &[0], false, false, false),
        ("..", &[1], true, true, false),
        // Ownership needs no flag.
        ("O.", &[], true, true, true),
        ("O...", &[], true, true, true),
        (".O", &[], true, true, true),
        // Nothing goes up.
        (".", &[1], false, false, false),
        ("+", &[1, 2], false, false, false),
    ];
    for (text, at, sees, invites, owns) in table {
        let authority = resolve(ME, &line(text), member_of(at, &[Invite], 3));
        let found = (authority.is_related(), authority.can(Invite), authority.owns());
        assert_eq!(found, (sees, invites, owns), "{text} {at:?}");
        assert_eq!(authority.can(View), sees, "{text} {at:?}");
        assert_eq!(authority.can(Capability::EditWorkspace), owns, "{text} {at:?}");
        assert_eq!(authority.sees_access(), invites, "{text} {at:?}");
    }
}

#[test]
fn a_membership_without_capabilities_lets_its_user_see_and_no_more() {
    for text in [".", ".+"] {
        let authority = resolve(ME, &line(text), member_of(&[0], &[], 0));
        assert_eq!(authority.capabilities(), capabilities(&[Capability::View]), "{text}");
        assert!(!authority.sees_access());
    }
}

#[test]
fn only_a_membership_here_binds_by_rank() {
    let here = resolve(ME, &line(".+"), member_of(&[1], &[], 3));
    assert_eq!(here.anchor(), 3);
    assert_eq!([0, 3, 4, MAX_RANK].map(|rank| here.is_senior_to(rank)), [false, false, true, true]);
    for above in [
        resolve(ME, &line(".+"), member_of(&[0], &[], 3)),
        resolve(ME, &line("O."), member_of(&[], &[], 3)),
        resolve(ME, &line(".O"), member_of(&[], &[], 3)),
        Authority::project(),
    ] {
        assert_eq!((above.anchor(), above.rank()), (APEX, None));
        assert!(above.is_senior_to(0));
    }
}

#[test]
fn nobody_gives_what_they_do_not_hold() {
    use Capability::{EditWorkspace, Invite};
    let may = |authority: &Authority, given: &[Capability], words: &[&str]| {
        authority.may_grant(given.iter().copied(), words.iter().copied())
    };
    let member = resolve(ME, &line("."), member_of(&[0], &[Invite], 3));
    assert!(may(&member, &[Invite, Capability::View], &["deploy"]));
    assert!(!may(&member, &[EditWorkspace], &[]));
    assert!(!may(&member, &[], &["deploy", "pay"]));
    // Capabilities reach down, permissions do not.
    let from_above = resolve(ME, &line(".+"), member_of(&[0], &[Invite], 3));
    assert!(may(&from_above, &[Invite], &[]));
    assert!(!may(&from_above, &[], &["deploy"]));
    for owner in [resolve(ME, &line("O."), member_of(&[], &[], 0)), Authority::project()] {
        assert!(may(&owner, &Capability::ALL, &["anything"]));
    }
    let stranger = resolve(ME, &line("."), member_of(&[], &[], 0));
    assert!(may(&stranger, &[], &[]) && !may(&stranger, &[Capability::View], &[]));
}

/// A tree as a list of parents, with owners, flags and grants by workspace and user.
#[derive(Debug, Clone)]
struct Forest {
    parents: Vec<Option<usize>>,
    owners: Vec<u128>,
    inherits: Vec<bool>,
    grants: Vec<(usize, u128, Vec<Capability>, i64)>,
}

fn forest() -> impl Strategy<Value = Forest> {
    (1..9_usize).prop_flat_map(|size| {
        let parents = (0..size)
            .map(|n| if n == 0 { Just(None).boxed() } else { proptest::option::of(0..n).boxed() })
            .collect::<Vec<_>>();
        let owners = proptest::collection::vec(1..5_u128, size);
        let inherits = proptest::collection::vec(any::<bool>(), size);
        let some = proptest::collection::vec((0..7_usize).prop_map(|n| Capability::ALL[n]), 0..4);
        let grants = proptest::collection::vec((0..size, 1..5_u128, some, 0..9_i64), 0..12);
        (parents, owners, inherits, grants).prop_map(|(parents, owners, inherits, grants)| Forest {
            parents,
            owners,
            inherits,
            grants,
        })
    })
}

impl Forest {
    /// The first grant of each user in each workspace counts; owners have none.
    fn grant(&self, at: usize, user: u128) -> Option<&(usize, u128, Vec<Capability>, i64)> {
        let found = self.grants.iter().find(|one| (one.0, one.1) == (at, user));
        found.filter(|_| self.owners[at] != user)
    }

    /// Rule 1, word by word: recursion over parents, with sets.
    fn obvious(&self, at: usize, user: u128) -> BTreeSet<&'static str> {
        fn is_owner_here_or_above(forest: &Forest, at: usize, user: u128) -> bool {
            forest.owners[at] == user
                || forest.parents[at].is_some_and(|up| is_owner_here_or_above(forest, up, user))
        }
        fn held(forest: &Forest, at: usize, user: u128) -> Option<BTreeSet<&'static str>> {
            let direct = forest.grant(at, user).map(|one| one.2.iter().map(|c| c.name()).collect());
            let parent = forest.parents[at].filter(|_| forest.inherits[at]);
            let above: Option<BTreeSet<&'static str>> =
                parent.and_then(|up| held(forest, up, user));
            match (direct, above) {
                (None, above) => above,
                (direct, None) => direct,
                (Some(mut direct), Some(above)) => {
                    BTreeSet::extend(&mut direct, above);
                    Some(direct)
                }
            }
        }
        if is_owner_here_or_above(self, at, user) {
            return Capability::ALL.iter().map(|one| one.name()).collect();
        }
        let mut held = held(self, at, user).map(|held| held.into_iter().chain(["view"]).collect());
        held.take().unwrap_or_default()
    }

    fn line(&self, at: usize) -> Vec<Node> {
        let mut line = Vec::new();
        let mut next = Some(at);
        while let Some(n) = next {
            let owner = UserId(Uuid::from_u128(self.owners[n]));
            line.insert(0, Node { id: workspace(n), owner, inherits: self.inherits[n] });
            next = self.parents[n];
        }
        line
    }
}

proptest! {
    #[test]
    fn authority_is_that_of_the_obvious_model(forest in forest()) {
        for at in 0..forest.parents.len() {
            for user in 1..5_u128 {
                let grant = |id: WorkspaceId| {
                    let n = usize::try_from(id.0.as_u128() - 100).unwrap();
                    forest.grant(n, user).map(|one| Grant {
                        capabilities: capabilities(&one.2),
                        permissions: Permissions::default(),
                        rank: one.3,
                    })
                };
                let authority = resolve(UserId(Uuid::from_u128(user)), &forest.line(at), grant);
                let expected = forest.obvious(at, user);
                let found = authority.capabilities();
                let found: BTreeSet<&str> = found.iter().map(Capability::name).collect();
                prop_assert_eq!(&found, &expected, "user {} at {}", user, at);
                prop_assert_eq!(authority.is_related(), expected.contains("view"));
                prop_assert_eq!(authority.rank(), forest.grant(at, user).map(|one| one.3));
                let all = Capability::ALL.into_iter();
                let grantable = all.filter(|one| authority.may_grant([*one].into_iter(), [].into_iter()));
                let grantable: BTreeSet<&str> = grantable.map(Capability::name).collect();
                prop_assert_eq!(grantable, expected, "they give what they hold");
            }
        }
    }
}
