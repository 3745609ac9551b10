//! Random graphs: what is asked of them, and the walks that answer as the naive walk does.

use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm};
use rayon::prelude::*;
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::naive::{Naive, Question};
use super::*;
use crate::budget::Budgets;
use crate::id::{EntityIx, RelationIx};
use crate::key::Name;
use crate::ops::domain::patterns::CHANGE_BLAST_RADIUS;
use crate::ops::look::Look;
use crate::ops::shape::Detail;

const KINDS: [&str; 8] = ["File", "Symbol", "UnityAsset", "Owner", "Build", "Commit", "Ticket", "graphify:rationale"];
const TYPES: [&str; 9] =
    ["DEPENDS_ON", "CALLS", "CONTAINS", "METHOD", "OWNS", "IMPORTED_AS", "MODIFIES", "RELATES_TO", "graphify:cites"];
const ENTITIES: usize = 12;

/// One relation: from, type, to, trust, sureness, start, group.
#[derive(Clone, Debug)]
struct Link(usize, usize, usize, Trust, u32, Since, usize);

#[derive(Clone, Debug)]
pub(super) struct Graph {
    kinds: Vec<usize>,
    trusts: Vec<Trust>,
    links: Vec<Link>,
    /// Links that are gone in the second reading of their group.
    gone: Vec<prop::sample::Index>,
    /// Entities and relations that are ended in the end.
    ended: Vec<(bool, prop::sample::Index)>,
}

fn trust() -> impl Strategy<Value = Trust> {
    prop_oneof![1 => Just(Trust::Hypothesis), 4 => Just(Trust::Derived), 8 => Just(Trust::Authoritative)]
}

fn link() -> impl Strategy<Value = Link> {
    let since = prop_oneof![6 => Just(Since::Observed), 1 => Just(Since::Unbounded), 2 => (0..50i64).prop_map(|t| Since::Told(at(t)))];
    // A few hubs, so that caps are met; and mostly the types that patterns follow.
    let end = || prop_oneof![2 => 0..ENTITIES, 1 => 0..2usize];
    (end(), prop_oneof![1 => 0..TYPES.len(), 1 => 0..3usize, 1 => 4..6usize], end(), trust(), 0..3u32, since, 0..3usize)
        .prop_map(|(a, kind, b, trust, sure, since, group)| Link(a, kind, b, trust, sure, since, group))
}

pub(super) fn graph() -> impl Strategy<Value = Graph> {
    let index = || any::<prop::sample::Index>();
    (
        prop::collection::vec(prop_oneof![3 => 0..3usize, 1 => 0..KINDS.len()], ENTITIES),
        prop::collection::vec(trust(), ENTITIES),
        prop::collection::vec(link(), 30..110),
        prop::collection::vec(index(), 0..4),
        prop::collection::vec((prop::bool::weighted(0.7), index()), 0..2),
    )
        .prop_map(|(kinds, trusts, links, gone, ended)| Graph { kinds, trusts, links, gone, ended })
}

impl Graph {
    fn key(&self, n: usize) -> EntityKey {
        EntityKey::new(KINDS[self.kinds[n]], "repo", format!("n{n:02}"))
    }

    fn relation(&self, link: &Link) -> Observation {
        let Link(a, kind, b, trust, sure, since, _) = link;
        let relation = Observation::relation(self.key(*a), TYPES[*kind], self.key(*b), "unity");
        let confidence = Confidence::from_millionths(1_000_000 - sure * 250_000).unwrap();
        Observation { trust: *trust, confidence, since: *since, ..relation }
    }

    /// A town that read its groups at 20 and again at 30, and ended some things at 40.
    pub(super) fn town(&self) -> Town {
        let mut town = Town::new();
        let entity = |n: usize| Observation { trust: self.trusts[n], ..Observation::entity(self.key(n)) };
        town.observe(10, "entities", Some("r0"), (0..ENTITIES).map(entity).collect());
        let gone: Vec<usize> = self.gone.iter().map(|index| index.index(self.links.len())).collect();
        for (stamp, reading) in [(20, 0), (30, 1)] {
            for group in 0..3 {
                let said = self
                    .links
                    .iter()
                    .enumerate()
                    .filter(|(i, link)| link.6 == group && !(reading == 1 && gone.contains(i)));
                let mut said: Vec<Observation> = said.map(|(_, link)| self.relation(link)).collect();
                said.extend((0..ENTITIES).filter(|n| n % 3 == group).map(entity));
                town.observe(stamp, &format!("g{group}"), Some(["r0", "r1"][(group + reading) % 2]), said);
            }
        }
        for (relation, index) in &self.ended {
            let topic = if *relation && town.engine.relations.len() > 0 {
                let ix = RelationIx::nth(index.index(town.engine.relations.len()));
                Topic::Relation(town.engine.relation_key(ix))
            } else {
                Topic::Entity(EntityId::projected(&scope(), &self.key(index.index(ENTITIES))))
            };
            town.ask(40, Edit::End { topic, since: Since::Observed, cause: None });
        }
        town
    }
}

/// A question about a random graph.
#[derive(Clone, Debug)]
pub(super) struct Asked {
    /// A row of the pattern table, or a generic walk.
    row: Option<usize>,
    subjects: Vec<usize>,
    direction: Direction,
    types: Vec<usize>,
    kinds: Vec<usize>,
    depth: Option<u32>,
    budgets: Budgets,
    look: Look,
}

fn look() -> impl Strategy<Value = Look> {
    let floor = prop::option::weighted(0.3, trust());
    let instant = prop::option::weighted(0.2, prop_oneof![1 => 0..60i64, 3 => 20..60i64].prop_map(at));
    let recorded = prop::option::weighted(0.1, (4..8u64).prop_map(crate::id::Seq));
    let revision = prop::option::weighted(0.05, (0..2u8).prop_map(|n| Name::from(["r0", "r1"][usize::from(n)])));
    (floor, instant, recorded, revision).prop_map(|(trust_floor, as_of, as_recorded, revision)| Look {
        as_of,
        as_recorded,
        trust_floor,
        investigation: trust_floor == Some(Trust::Hypothesis),
        revision,
        now: None,
    })
}

fn budgets() -> impl Strategy<Value = Budgets> {
    let nodes = prop_oneof![2 => Just(500u32), 3 => 3..16u32];
    let edges = prop_oneof![2 => Just(2_000u32), 3 => 0..30u32];
    let fan_out = prop_oneof![1 => Just(64u32), 3 => 1..9u32];
    (nodes, edges, fan_out).prop_map(|(nodes, edges, fan_out)| Budgets { nodes, edges, fan_out })
}

pub(super) fn asked() -> impl Strategy<Value = Asked> {
    let row = prop::option::weighted(0.5, 0..ROWS.len());
    let direction = prop_oneof![Just(Direction::Both), Just(Direction::In), Just(Direction::Out)];
    let subjects = prop::collection::vec(0..ENTITIES, 1..4);
    let types = prop_oneof![3 => Just(vec![]), 1 => prop::collection::vec(0..TYPES.len(), 1..3)];
    let kinds = prop_oneof![4 => Just(vec![]), 1 => prop::collection::vec(0..3usize, 1..3)];
    let depth = prop::option::of(prop_oneof![1 => 0..4u32, 2 => 1..4u32]);
    (row, subjects, direction, types, kinds, depth, budgets(), look()).prop_map(
        |(row, subjects, direction, types, kinds, depth, budgets, look)| Asked {
            row,
            subjects,
            direction,
            types,
            kinds,
            depth,
            budgets,
            look,
        },
    )
}

impl Asked {
    fn subject(&self, graph: &Graph, n: usize) -> Subject {
        Subject::Key(graph.key(n))
    }

    fn generic(&self, graph: &Graph) -> WalkRequest {
        WalkRequest {
            subjects: self.subjects[1..].iter().map(|n| self.subject(graph, *n)).collect(),
            direction: self.direction,
            types: self.types.iter().map(|n| TYPES[*n].into()).collect(),
            kinds: self.kinds.iter().map(|n| KINDS[*n].into()).collect(),
            depth: self.depth,
            budgets: self.budgets,
            look: self.look.clone(),
            ..WalkRequest::from(self.subject(graph, self.subjects[0]))
        }
    }

    /// The lens that is asked through, as an operation makes it.
    pub(super) fn lens(&self, town: &Town) -> Option<Lens> {
        self.look.lens(town.lens().view()).ok()
    }

    fn answer(&self, graph: &Graph, lens: &Lens, hook: &(dyn Fn() -> bool + Sync)) -> Result<Answer<Expansion>, Error> {
        self.answer_in(Detail::Full, graph, lens, hook)
    }

    pub(super) fn answer_in(
        &self,
        detail: Detail,
        graph: &Graph,
        lens: &Lens,
        hook: &(dyn Fn() -> bool + Sync),
    ) -> Result<Answer<Expansion>, Error> {
        match self.row {
            None => walk(lens, &WalkRequest { detail, ..self.generic(graph) }, hook),
            Some(row) => {
                let subject = self.subject(graph, self.subjects[0]);
                let (depth, budgets) = (self.depth, self.budgets);
                let request = DomainRequest { depth, budgets, detail, ..DomainRequest::about(subject) };
                run(lens, ROWS[row], &request, hook)
            }
        }
    }

    /// The same as the naive walk is asked it.
    fn naive<'a>(&self, graph: &Graph, lens: &'a Lens, interrupted: Option<usize>) -> Naive<'a> {
        let subject = |n: &usize| -> EntityIx {
            lens.engine().find_entity(EntityId::projected(&scope(), &graph.key(*n))).unwrap()
        };
        let (question, subjects) = match self.row {
            None => (Question::generic(&self.generic(graph)), self.subjects.iter().map(|n| (subject(n), 0)).collect()),
            Some(row) => {
                let kind = KINDS[graph.kinds[self.subjects[0]]];
                let state = ROWS[row].subjects.iter().find(|(of, _)| *of == kind).map_or(0, |(_, state)| *state);
                (Question::pattern(ROWS[row], self.depth, self.budgets), vec![(subject(&self.subjects[0]), state)])
            }
        };
        Naive::walk(lens, Question { interrupted, ..question }, &subjects)
    }
}

/// What an answer and the naive walk must agree in.
fn check(answer: &Answer<Expansion>, naive: &Naive, lens: &Lens) {
    let engine = lens.engine();
    let id = |entity: EntityIx| engine.entity(entity).id;
    let (nodes, edges, paths) = full(answer);
    let found: Vec<_> = nodes.iter().map(|node| (node.id, node.distance)).collect();
    let expected: Vec<_> = naive.shown().map(|node| (id(node.entity), node.distance)).collect();
    assert_eq!(found, expected, "entities, in the order of admission");
    let found: Vec<_> =
        edges.iter().map(|edge| (edge.source, edge.kind.clone(), edge.target, edge.origin.clone())).collect();
    let key = |relation: &RelationIx| engine.relation_key(*relation);
    let expected: Vec<_> =
        naive.edges.iter().map(key).map(|key| (key.source, key.kind, key.target, key.origin)).collect();
    assert_eq!(found, expected, "relations, in the order of admission");
    let strengths: Vec<f64> = nodes.iter().filter_map(|node| node.strength).collect();
    if !strengths.is_empty() {
        assert_eq!(strengths, naive.shown().map(|node| node.strength).collect::<Vec<_>>());
        assert!(strengths.is_sorted_by(|a, b| a >= b), "ranked: the strongest path first");
    }
    // Each path leads from a subject to its entity, over relations of the answer, and is as trusted as its weakest hop.
    for (path, node) in paths.iter().zip(naive.shown().filter(|node| node.by.is_some())) {
        assert_eq!((path.to, path.trust), (id(node.entity), node.trust));
        let (mut place, mut along) = (node.clone(), Vec::new());
        while let Some((edge, from)) = place.by {
            along.insert(0, edge);
            place = naive.nodes[from].clone();
        }
        assert_eq!(path.edges, along);
        assert!(path.edges.iter().all(|edge| edges[*edge].trust >= path.trust));
    }
    let (lacks, beyond) = naive.account();
    let found = answer.reasons().iter().filter(|reason| reason.omitted > 0).map(|reason| {
        assert!(reason.exact);
        assert_eq!(reason.omitted, reason.by_type.values().sum::<u64>());
        (reason.limit, reason.at, reason.by_type.clone(), reason.by_trust.clone())
    });
    let expected: Vec<_> =
        lacks.into_iter().map(|(limit, at, types, trusts)| (limit, at.map(id), types, trusts)).collect();
    assert_eq!(answer.truncated(), !expected.is_empty() || naive.interrupted());
    assert_eq!(found.collect::<Vec<_>>(), expected, "what was left out, and why");
    assert_eq!(answer.beyond(), beyond);
}

fn json(answer: &Result<Answer<Expansion>, Error>) -> String {
    match answer {
        Ok(answer) => serde_json::to_string(answer).unwrap(),
        Err(error) => error.to_json().to_string(),
    }
}

pub(super) fn config(cases: u32) -> Config {
    Config { cases, rng_algorithm: RngAlgorithm::XorShift, ..Config::default() }
}

proptest! {
    #![proptest_config(config(500))]

    /// An answer that differs from what the rules say is bounded by something else than what it says.
    #[test]
    fn walks_are_as_the_rules_say(graph in graph(), questions in prop::collection::vec((asked(), prop::option::weighted(0.2, 0..9usize)), 6)) {
        let town = graph.town();
        for (asked, interrupted) in questions {
            let Some(lens) = asked.lens(&town) else { continue };
            let admissions = AtomicUsize::new(0);
            let hook = || Some(admissions.fetch_add(1, Ordering::Relaxed)) == interrupted;
            if let Ok(answer) = asked.answer(&graph, &lens, &hook) {
                check(&answer, &asked.naive(&graph, &lens, interrupted), &lens);
            }
        }
    }

    /// A caller who asks again with more must find what it had, and after it what it lacked; in every detail.
    #[test]
    fn less_is_a_prefix_of_more(graph in graph(), asked in asked(), less in prop::collection::vec((0.0..1.0f64, 0.0..1.0f64, 0.0..1.0f64), 4)) {
        let town = graph.town();
        let Some(lens) = asked.lens(&town) else { return Ok(()) };
        let Ok(more) = asked.answer(&graph, &lens, &never) else { return Ok(()) };
        let (nodes, edges, paths) = full(&more);
        for (fewer_nodes, fewer_edges, shallower) in less {
            let part = |whole: usize, share: f64| (whole as f64 * share) as u32;
            let mut small = asked.clone();
            small.budgets.nodes = small.budgets.nodes.min(1 + part(nodes.len(), fewer_nodes));
            small.budgets.edges = small.budgets.edges.min(part(edges.len(), fewer_edges));
            if asked.row.is_none_or(|row| !ROWS[row].ranked) {
                let depth = more.applied().unwrap().depth;
                small.depth = Some(part(depth as usize + 1, shallower).min(depth));
            }
            // More subjects than nodes are refused.
            let Ok(answer) = small.answer(&graph, &lens, &never) else { continue };
            let (less_nodes, less_edges, less_paths) = full(&answer);
            prop_assert_eq!(less_nodes, &nodes[..less_nodes.len()]);
            prop_assert_eq!(less_edges, &edges[..less_edges.len()]);
            prop_assert_eq!(less_paths, &paths[..less_paths.len()]);
            let complete = (less_nodes.len(), less_edges.len()) == (nodes.len(), edges.len());
            prop_assert!(complete || answer.truncated() || answer.beyond() > 0, "what is missing is told");
        }
    }

    /// More knowledge must not make a change look smaller: what one path reaches, a stronger path to the same file can't
    /// hide.
    #[test]
    fn a_relation_more_takes_nothing_from_a_blast_radius(graph in graph(), more in link(), subject in 0..ENTITIES) {
        let graph = Graph { gone: vec![], ended: vec![], ..graph };
        let mut town = graph.town();
        let reached = |town: &Town| -> Option<BTreeSet<EntityId>> {
            let request = DomainRequest::about(Subject::Key(graph.key(subject)));
            let answer = run(&town.lens().as_of(at(60)), &CHANGE_BLAST_RADIUS, &request, &never).ok()?;
            (!answer.truncated()).then(|| full(&answer).0.iter().map(|node| node.id).collect())
        };
        let before = reached(&town);
        town.observe(50, "more", Some("r0"), vec![graph.relation(&more)]);
        if let (Some(before), Some(after)) = (before, reached(&town)) {
            prop_assert!(before.is_subset(&after));
        }
    }

    /// An answer that depended on the machine, on the number of its threads or on how long it has been running could not
    /// be repeated by anybody.
    #[test]
    fn threads_and_reopening_change_no_byte(graph in graph(), questions in prop::collection::vec(asked(), 8)) {
        let (town, pools) = (graph.town(), pools());
        let reopened = town.reopened();
        let ask = |town: &Town, asked: &Asked| asked.lens(town).map(|lens| json(&asked.answer(&graph, &lens, &never)));
        let expected: Vec<Option<String>> = questions.iter().map(|asked| ask(&town, asked)).collect();
        for pool in pools {
            for town in [&town, &reopened] {
                let found: Vec<Option<String>> =
                    pool.install(|| questions.par_iter().map(|asked| ask(town, asked)).collect());
                prop_assert_eq!(&found, &expected);
            }
        }
    }
}

/// A pool of one thread and one of four.
fn pools() -> &'static [rayon::ThreadPool; 2] {
    static POOLS: std::sync::LazyLock<[rayon::ThreadPool; 2]> =
        std::sync::LazyLock::new(|| [1, 4].map(|n| rayon::ThreadPoolBuilder::new().num_threads(n).build().unwrap()));
    &POOLS
}
