//! Budgets, limits and filters, one story each (O-1 to O-5).

use super::*;
use crate::budget::Budgets;
use crate::error::Code;
use crate::ops::shape::Detail;
use std::sync::atomic::{AtomicU32, Ordering};

fn budgets(nodes: u32, edges: u32, fan_out: u32) -> Budgets {
    Budgets { nodes, edges, fan_out }
}

/// A clamp that nobody notices makes a part pass for the whole; so does a bound that means nothing.
#[test]
fn bounds_outside_their_range_are_refused() {
    let town = Town::of(&["a b"]);
    let most = Budgets::CEILING;
    type Refused = Option<(Code, &'static str)>;
    let table: [(Budgets, Option<u32>, Refused); 10] = [
        (most, Some(32), None),
        (budgets(1, 0, 1), Some(0), None),
        (
            Budgets { nodes: most.nodes + 1, ..most },
            None,
            Some((Code::AboveCeiling, "nodes 10001 is above the ceiling of 10000")),
        ),
        (
            Budgets { edges: most.edges + 1, ..most },
            None,
            Some((Code::AboveCeiling, "edges 50001 is above the ceiling of 50000")),
        ),
        (
            Budgets { fan_out: u32::MAX, ..most },
            None,
            Some((Code::AboveCeiling, "fan_out 4294967295 is above the ceiling of 4096")),
        ),
        (most, Some(33), Some((Code::AboveCeiling, "depth 33 is above the ceiling of 32"))),
        (most, Some(u32::MAX), Some((Code::AboveCeiling, "depth"))),
        (budgets(0, 1, 1), None, Some((Code::Invalid, "nodes of at least 1, found 0"))),
        (budgets(1, 1, 0), None, Some((Code::Invalid, "fan_out of at least 1, found 0"))),
        (budgets(0, 0, 0), None, Some((Code::Invalid, "nodes"))),
    ];
    let asset = EntityKey::new("UnityAsset", "unity", "guid");
    let mut assets = Town::new();
    assets.observe(10, "g", None, vec![Observation::entity(asset.clone())]);
    for (budgets, depth, expected) in table {
        let generic = walk(&town.lens(), &WalkRequest { budgets, depth, ..from(id("a")) }, &never);
        let subject = Subject::Key(asset.clone());
        let request = DomainRequest { budgets, depth, ..DomainRequest::about(subject) };
        let domain = run(&assets.lens(), row("asset_consumers"), &request, &never);
        for found in [generic, domain] {
            match (found, &expected) {
                (Ok(answer), None) => assert!(answer.applied().is_some_and(|applied| applied.budgets == budgets)),
                (Err(error), Some((code, message))) => {
                    assert_eq!(error.code(), *code);
                    assert!(error.message().contains(message), "{error}");
                    let named = error.to_json()["error"]["details"]["budget"].clone();
                    assert!(*code == Code::Invalid || message.starts_with(named.as_str().unwrap()), "{named}");
                }
                (found, expected) => panic!("{budgets:?} {depth:?}: expected {expected:?}, found {found:?}"),
            }
        }
    }
}

fn row(operation: &str) -> &'static crate::ops::domain::patterns::Row {
    ROWS.iter().find(|row| row.operation == operation).unwrap()
}

/// A hub that is walked through connects everything with everything; one that is hidden loses what is asked for.
#[test]
fn a_supernode_is_shown_and_not_walked_through() {
    let town = Town::of(&["a hub", "a b", "hub c", "hub d", "hub e", "b f"]);
    let request = WalkRequest { budgets: budgets(50, 50, 3), depth: Some(3), ..from(id("a")) };
    let answer = walk(&town.lens(), &request, &never).unwrap();
    assert_eq!(labels(&answer), "a hub b f");
    assert_eq!(reasons(&answer), ["supernode hub 3"]);
    assert!(answer.truncated());
    // Asked about itself, a hub gives its best, and these lead nowhere.
    let answer = walk(&town.lens(), &WalkRequest { budgets: budgets(50, 50, 2), ..request.clone() }, &never).unwrap();
    assert_eq!((labels(&answer), reasons(&answer).len()), ("a hub b f".into(), 1));
    let hub = WalkRequest { subject: Subject::from(id("hub")), ..request };
    let answer = walk(&town.lens(), &hub, &never).unwrap();
    assert_eq!(labels(&answer), "hub a c d");
    assert_eq!(reasons(&answer), ["fan_out hub 1", "supernode a 1"]);
    // With depth 1, what lies behind is merely deeper than asked.
    let answer = walk(&town.lens(), &WalkRequest { depth: Some(1), ..hub }, &never).unwrap();
    assert_eq!((reasons(&answer), answer.beyond()), (vec!["fan_out hub 1".into()], 1));
}

/// A count that is given up on must not pass for a count.
#[test]
fn what_is_too_much_to_count_is_a_lower_bound() {
    let others = 65_600;
    let mut all = vec![Observation::entity(thing("hub"))];
    for i in 0..others {
        let other = format!("{i}");
        all.extend([Observation::entity(thing(&other)), depends("hub", &other)]);
    }
    let mut town = Town::new();
    town.observe(10, "g", None, all);
    let ask = |lens: &Lens, kinds| {
        let request = WalkRequest { kinds, budgets: budgets(4, 4, 3), depth: Some(1), ..from(id("hub")) };
        let answer = walk(lens, &request, &never).unwrap();
        let reason = &answer.reasons()[0];
        assert_eq!((labels(&answer), reason.limit), ("hub 0 1 10".into(), Limit::FanOut));
        (reason.omitted, reason.exact)
    };
    let (now, then) = (town.lens(), town.lens().as_of(at(10)));
    assert_eq!(ask(&now, vec![]), (others - 3, true), "by types and trust, now: exact, whatever it is");
    assert_eq!(ask(&now, vec!["File".into()]), (65_536 - 3, false));
    assert_eq!(ask(&then, vec![]), (others - 3, true), "that instant is now");
    town.observe(20, "more", None, vec![Observation::entity(thing("later"))]);
    assert_eq!(ask(&town.lens().as_of(at(10)), vec![]), (65_536 - 3, false));
}

/// A domain question is about just those relations, so a hub of them is expanded, within the fan-out.
#[test]
fn a_typed_pattern_expands_a_hub_within_the_fan_out() {
    let asset = |name: &str| EntityKey::new("UnityAsset", "unity", name);
    let uses = |source: &str, target: &str| Observation::relation(asset(source), "DEPENDS_ON", asset(target), "unity");
    let names = ["a", "hub", "p", "q", "r", "s", "t"];
    let mut observations: Vec<Observation> = names.iter().map(|name| Observation::entity(asset(name))).collect();
    observations.push(uses("hub", "a"));
    observations.extend(["p", "q", "r", "s"].map(|name| uses(name, "hub")));
    observations.push(uses("t", "p"));
    let mut town = Town::new();
    town.observe(10, "g", None, observations);
    let request = DomainRequest { budgets: budgets(50, 50, 3), ..DomainRequest::about(Subject::Key(asset("a"))) };
    let answer = run(&town.lens(), row("asset_consumers"), &request, &never).unwrap();
    assert_eq!(labels(&answer), "a hub p q r t");
    assert_eq!(reasons(&answer), ["fan_out hub 1"]);
}

/// A file and its asset are one thing to whoever asks, however sure the file's other relations are: were these taken
/// first, an answer of less depth would begin otherwise.
#[test]
fn free_steps_come_before_those_that_cost() {
    let asset = EntityKey::new("UnityAsset", "unity", "asset");
    let imported = Observation {
        confidence: Confidence::new(0.5).unwrap(),
        ..Observation::relation(thing("a"), "IMPORTED_AS", asset.clone(), "link")
    };
    let mut all: Vec<Observation> = ["a", "b", "c"].map(|name| Observation::entity(thing(name))).into();
    all.extend([Observation::entity(asset), imported, depends("b", "a"), depends("c", "b")]);
    let mut town = Town::new();
    town.observe(10, "g", None, all);
    for (depth, expected) in [(0, "a asset"), (1, "a asset b"), (2, "a asset b c")] {
        let request = DomainRequest { depth: Some(depth), ..DomainRequest::about(Subject::from(id("a"))) };
        let answer = run(&town.lens(), row("asset_consumers"), &request, &never).unwrap();
        assert_eq!(labels(&answer), expected, "depth {depth}");
    }
}

/// Were one subject walked before the next, the budget would be spent on the first alone.
#[test]
fn several_subjects_take_turns() {
    let town = Town::of(&["a a1", "a a2", "a a3", "b b1", "c c1", "c c2"]);
    let subjects = vec![Subject::from(id("b")), Subject::from(id("c")), Subject::from(id("a"))];
    let request = |nodes| WalkRequest { subjects: subjects.clone(), budgets: budgets(nodes, 50, 64), ..from(id("a")) };
    let answer = walk(&town.lens(), &request(50), &never).unwrap();
    assert_eq!(labels(&answer), "a b c a1 b1 c1 a2 c2 a3");
    assert_eq!(answer.found().subjects.len(), 2, "a subject that is named twice is one");
    let answer = walk(&town.lens(), &request(7), &never).unwrap();
    assert_eq!(labels(&answer), "a b c a1 b1 c1 a2");
    assert_eq!(reasons(&answer), ["nodes a 1", "nodes c 1"], "each says what ended the walk, not what its fan-out is");
    let error = walk(&town.lens(), &request(2), &never).unwrap_err();
    assert!(error.message().contains("3 subjects don't fit into nodes 2"), "{error}");
}

/// What lies deeper than the caller asked is no truncation; what lies deeper than a default is.
#[test]
fn depth_by_default_is_a_limit_and_a_given_one_is_not() {
    let town = Town::of(&["a b", "b c", "c d", "c e", "d e"]);
    let ask = |depth| walk(&town.lens(), &WalkRequest { depth, ..from(id("a")) }, &never).unwrap();
    let table: [(Option<u32>, &str, &[&str], u64); 5] = [
        (None, "a b c", &["depth - 2"], 0),
        (Some(2), "a b c", &[], 2),
        (Some(0), "a", &[], 1),
        (Some(3), "a b c d e", &[], 1),
        (Some(4), "a b c d e", &[], 0),
    ];
    for (depth, expected, why, beyond) in table {
        let answer = ask(depth);
        assert_eq!(
            (labels(&answer), reasons(&answer), answer.beyond()),
            (expected.into(), why.iter().map(|w| (*w).to_owned()).collect(), beyond),
            "{depth:?}"
        );
        assert_eq!(answer.truncated(), !why.is_empty());
    }
}

/// An answer that was interrupted and didn't say so would be read as all there is.
#[test]
fn an_interrupted_walk_says_so_with_what_it_reached() {
    let town = Town::of(&["a b", "a c", "b d"]);
    for stop_at in 0..3 {
        let asked = AtomicU32::new(0);
        let hook = || asked.fetch_add(1, Ordering::Relaxed) == stop_at;
        let answer = walk(&town.lens(), &from(id("a")), &hook).unwrap();
        let (nodes, edges, _) = full(&answer);
        assert_eq!((nodes.len(), edges.len()), (stop_at as usize + 1, stop_at as usize));
        assert!(answer.truncated() && answer.reasons().iter().any(|reason| reason.limit == Limit::Interrupt));
    }
    // Interrupted where nothing is left to admit, too.
    let lone = Town::of(&["a a"]);
    let answer = walk(&lone.lens(), &from(id("a")), &|| true).unwrap();
    assert_eq!(reasons(&answer), ["interrupt a 1"]);
}

/// A filter that ran after the walk would spend the budget on what it throws away, and walk through what it hides.
#[test]
fn what_does_not_match_costs_nothing_and_bridges_nothing() {
    let mut town = Town::new();
    let owner = EntityKey::new("Owner", "github", "ada");
    let mut all: Vec<Observation> = ["a", "b", "c", "d", "guess"].map(|name| Observation::entity(thing(name))).into();
    all.push(Observation::entity(owner.clone()));
    all.push(Observation::relation(owner.clone(), "OWNS", thing("a"), "link"));
    all.push(Observation::relation(owner.clone(), "OWNS", thing("d"), "link"));
    all.push(Observation::relation(thing("a"), "CALLS", thing("b"), "graphify"));
    let guess = |source: &str, target: &str| Observation { trust: Trust::Hypothesis, ..depends(source, target) };
    all.extend([guess("a", "guess"), guess("guess", "c"), depends("b", "c")]);
    town.observe(10, "g", None, all);
    let ask = |request: WalkRequest| {
        let lens = request.look.lens(town.lens().view()).unwrap();
        let answer =
            walk(&lens, &WalkRequest { budgets: budgets(4, 4, 64), depth: Some(3), ..request }, &never).unwrap();
        labels(&answer)
    };
    let base = from(id("a"));
    let look = |json: serde_json::Value| serde_json::from_value(json).unwrap();
    assert_eq!(ask(base.clone()), "a b ada c");
    let types = |names: &[&str]| names.iter().map(|name| (*name).into()).collect();
    assert_eq!(ask(WalkRequest { types: types(&["DEPENDS_ON"]), ..base.clone() }), "a b c", "subtypes match");
    assert_eq!(ask(WalkRequest { types: types(&["OWNS"]), ..base.clone() }), "a ada d");
    assert_eq!(ask(WalkRequest { kinds: types(&["File"]), ..base.clone() }), "a b c", "nobody walks through the owner");
    assert_eq!(ask(WalkRequest { direction: Direction::In, ..base.clone() }), "a ada");
    let investigation = look(serde_json::json!({ "investigation": true }));
    let guessing = WalkRequest { look: investigation, kinds: types(&["File"]), ..base.clone() };
    assert_eq!(ask(guessing), "a b guess c");
    town.ask(20, Edit::End { topic: Topic::Entity(id("b")), since: Since::Observed, cause: None });
    let answer = walk(&town.lens(), &WalkRequest { kinds: types(&["File"]), ..base.clone() }, &never).unwrap();
    assert_eq!((labels(&answer), answer.truncated()), ("a".into(), false), "what was ended is gone, and not omitted");
    let then = town.lens().as_of(at(15));
    assert_eq!(labels(&walk(&then, &WalkRequest { kinds: types(&["File"]), ..base }, &never).unwrap()), "a b c");
}

/// A chain is only as good as its weakest hop, whatever its ends are.
#[test]
fn the_trust_of_a_path_is_that_of_its_weakest_hop() {
    let mut town = Town::new();
    let mut all: Vec<Observation> = ["a", "b", "c"].map(|name| Observation::entity(thing(name))).into();
    all.push(Observation { trust: Trust::Derived, ..depends("a", "b") });
    all.push(depends("b", "c"));
    town.observe(10, "g", None, all);
    let answer = walk(&town.lens(), &from(id("a")), &never).unwrap();
    let trusts: Vec<Trust> = full(&answer).2.iter().map(|path| path.trust).collect();
    assert_eq!(trusts, [Trust::Derived, Trust::Derived]);
}

/// A word that nobody knows must not be walked as if it matched nothing.
#[test]
fn unknown_words_are_named() {
    let town = Town::of(&["a b"]);
    let refused = |request: WalkRequest| walk(&town.lens(), &request, &never).unwrap_err().to_string();
    let wrong = refused(WalkRequest { types: vec!["DEPEND_ON".into()], ..from(id("a")) });
    assert!(wrong.contains("did you mean \"DEPENDS_ON\"?"), "{wrong}");
    let wrong = refused(WalkRequest { kinds: vec!["Fil".into()], ..from(id("a")) });
    assert!(wrong.contains("did you mean \"File\"?"), "{wrong}");
    let wrong: Error = walk(&town.lens(), &from(id("nobody")), &never).unwrap_err();
    assert_eq!(wrong.code(), Code::NotFound);
}

/// A file that holds code affected by a change, and is affected itself by what it imports, is both: which of the two was
/// found first must not decide what else is found.
#[test]
fn a_stronger_path_hides_nothing() {
    let key =
        |name: &str| EntityKey::new(if name.starts_with(char::is_uppercase) { "File" } else { "Symbol" }, "repo", name);
    let relation = |source: &str, kind: &str, target: &str, sure: f64| {
        let relation = Observation::relation(key(source), kind, key(target), "graphify");
        Observation { confidence: Confidence::new(sure).unwrap(), ..relation }
    };
    let calls = relation("tt", "CALLS", "s", 1.0);
    let mut said: Vec<Observation> = ["A", "B", "C", "s", "tt"].map(|name| Observation::entity(key(name))).into();
    said.extend([
        relation("A", "CONTAINS", "s", 1.0),
        relation("B", "CONTAINS", "tt", 1.0),
        relation("B", "IMPORTS", "A", 0.6),
        relation("C", "IMPORTS", "B", 1.0),
    ]);
    for (calls, expected) in [(None, "A s B C"), (Some(calls), "A s tt B C")] {
        let mut town = Town::new();
        town.observe(10, "code", None, said.iter().cloned().chain(calls).collect());
        let request = DomainRequest::about(Subject::Key(key("A")));
        let answer = run(&town.lens(), ROWS[1], &request, &never).unwrap();
        assert_eq!(labels(&answer), expected);
        assert!(!answer.truncated());
        assert!(full(&answer).2.iter().any(|path| path.compact == "A ←IMPORTS– B ←IMPORTS– C"), "as it was reached");
        let small = DomainRequest { detail: Detail::Ids, ..request };
        let answer = run(&town.lens(), ROWS[1], &small, &never).unwrap();
        let Body::Ids { nodes, .. } = &answer.found().body else { panic!("ids") };
        assert_eq!(nodes.len(), expected.split(' ').count(), "each once");
    }
}
