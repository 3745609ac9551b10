//! Walks and commits on a generated production graph: `cargo bench --bench engine`.
//!
//! 50,000 entities and 250,000 relations of 12 types, degrees by Zipf's law (the greatest hub has some tens of thousands),
//! in groups of files as sources give them; a fifth of the groups is read a second time with changes, so that there is
//! history. The generator is seeded: every run measures the same graph. Figures are printed, none is asserted.

use std::hint::black_box;

use criterion::{BatchSize, Criterion};
use triglyph::change::Edit;
use triglyph::ops::shape::{Body, Detail};
use triglyph::ops::subject::Subject;
use triglyph::ops::walk::generic::{Direction, WalkRequest, walk};
use triglyph::{
    Batch, Confidence, Durability, EntityId, EntityKey, Graph, Group, GroupKey, Lens, Observation, Scope, Since, Store,
    Time, Trust, Value,
};

const ENTITIES: usize = 50_000;
const RELATIONS: usize = 250_000;
const GROUP: usize = 50;

const KINDS: [&str; 5] = ["File", "Symbol", "UnityAsset", "Artifact", "Commit"];
const TYPES: [&str; 12] = [
    "DEPENDS_ON",
    "CALLS",
    "CONTAINS",
    "METHOD",
    "OWNS",
    "IMPORTED_AS",
    "MODIFIES",
    "MENTIONS",
    "PRODUCED",
    "USES",
    "INHERITS",
    "DERIVED_FROM",
];

/// xorshift64*: small, seeded, the same everywhere.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() >> 11) as usize % n
    }

    fn share(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Zipf's law with exponent 1, by inverting its integral: rank `r` comes with a chance of about `1 / r`.
    fn zipf(&mut self, n: usize) -> usize {
        let rank = (n as f64).powf(self.share());
        (rank as usize).clamp(1, n) - 1
    }
}

fn key(n: usize) -> EntityKey {
    EntityKey::new(KINDS[n % KINDS.len()], "repo", format!("src/part{}/unit{n:06}", n % 97))
}

struct World {
    graph: Graph,
    /// Before the second reading.
    monday: Time,
    hub: EntityId,
    others: Vec<EntityId>,
}

fn generate() -> World {
    let mut random = Random(0x7269_676c_7970_6821);
    let scope = Scope::new("bench", "zipf").expect("a scope");
    let graph = Store::in_memory().expect("a store").graph(&scope).expect("a graph");
    let mut said: Vec<Vec<Observation>> = vec![Vec::new(); ENTITIES / GROUP];
    for n in 0..ENTITIES {
        let named = Observation::entity(key(n)).with("name", Some(format!("unit{n:06}")));
        said[n / GROUP].push(named);
    }
    for i in 0..RELATIONS {
        let (source, target) = (random.below(ENTITIES), random.zipf(ENTITIES));
        let mut relation = Observation::relation(key(source), TYPES[random.zipf(TYPES.len())], key(target), "bench");
        relation.trust = if random.below(4) == 0 { Trust::Derived } else { Trust::Authoritative };
        relation.confidence =
            Confidence::from_millionths(1_000_000 - 50_000 * random.below(8) as u32).expect("a share");
        relation.record = i as u32 % 2;
        said[source / GROUP].push(relation);
    }
    let group = |n: usize, observations: Vec<Observation>| Group {
        key: GroupKey::new("bench:main", format!("group{n:05}")),
        revision: Some("r1".into()),
        observations,
    };
    let mut stamp = 1_000_000_000;
    let commit = |graph: &Graph, stamp: i64, groups: Vec<Group>| {
        let mut batch = Batch::new(Time::from_micros(stamp), [0; 10]);
        for group in groups {
            batch.push(Edit::Observe { group, fingerprint: None });
        }
        graph.commit(batch, Durability::Buffered).expect("a commit");
    };
    for groups in (0..said.len()).collect::<Vec<_>>().chunks(50) {
        stamp += 1_000;
        commit(&graph, stamp, groups.iter().map(|n| group(*n, said[*n].clone())).collect());
    }
    let monday = Time::from_micros(stamp + 500);
    for n in (0..said.len()).filter(|n| n % 5 == 0) {
        stamp += 1_000;
        // A tenth of what the group said is gone, and what remains is a little surer.
        let mut again: Vec<Observation> = Vec::new();
        for (i, mut observation) in said[n].clone().into_iter().enumerate() {
            if i >= GROUP && i % 10 == 0 {
                continue;
            }
            if i % 7 == 0 {
                observation.confidence = Confidence::ONE;
            }
            again.push(observation);
        }
        commit(&graph, stamp, vec![group(n, again)]);
    }
    let id = |n: usize| EntityId::projected(&scope, &key(n));
    // By Zipf's law the first entity is the greatest hub.
    World { graph, monday, hub: id(0), others: (0..4_096).map(|_| id(random.below(ENTITIES))).collect() }
}

fn ask(lens: &Lens, subject: EntityId, detail: Detail) -> usize {
    let request = WalkRequest { detail, direction: Direction::Both, ..WalkRequest::from(Subject::from(subject)) };
    let answer = walk(lens, &request, &|| false).expect("an answer");
    match &answer.found().body {
        Body::Ids { edges, .. } => edges.len(),
        Body::Full { edges, .. } => edges.len(),
        Body::Lines { edges, .. } => *edges,
    }
}

fn walks(criterion: &mut Criterion, world: &World) {
    let now = world.graph.view().lens();
    let then = now.clone().as_of(world.monday);
    let mut group = criterion.benchmark_group("walk");
    for (name, lens) in [("now", &now), ("as of", &then)] {
        for (detail_name, detail) in [("ids", Detail::Ids), ("lines", Detail::Lines), ("full", Detail::Full)] {
            println!("{name} {detail_name}: {} relations around the hub", ask(lens, world.hub, detail));
            group.bench_function(format!("hub depth 2, {name}, {detail_name}"), |bench| {
                bench.iter(|| black_box(ask(lens, world.hub, detail)));
            });
        }
        group.bench_function(format!("random depth 2, {name}, ids"), |bench| {
            let mut others = world.others.iter().cycle();
            bench.iter(|| black_box(ask(lens, *others.next().expect("a cycle"), Detail::Ids)));
        });
    }
    group.finish();
}

fn commits(criterion: &mut Criterion, world: &World) {
    let graph = &world.graph;
    let mut stamp = 2_000_000_000;
    let mut fact = |id: EntityId| {
        stamp += 1;
        let mut batch = Batch::new(Time::from_micros(stamp), [0; 10]);
        batch.fact(id, "summary", Value::Int(stamp), Since::Observed);
        batch
    };
    let mut group = criterion.benchmark_group("commit");
    let mut others = world.others.iter().cycle();
    group.bench_function("one fact", |bench| {
        bench.iter_batched(
            || fact(*others.next().expect("a cycle")),
            |batch| graph.commit(batch, Durability::Buffered).expect("a commit"),
            BatchSize::SmallInput,
        );
    });
    group.bench_function("one fact of what has thousands", |bench| {
        bench.iter_batched(
            || fact(world.hub),
            |batch| graph.commit(batch, Durability::Buffered).expect("a commit"),
            BatchSize::SmallInput,
        );
    });
    group.finish();
}

fn main() {
    let started = std::time::Instant::now();
    let world = generate();
    println!("generated in {:.1?}; {:?}", started.elapsed(), world.graph.view());
    let mut criterion = Criterion::default().configure_from_args().sample_size(20);
    walks(&mut criterion, &world);
    commits(&mut criterion, &world);
    criterion.final_summary();
}
