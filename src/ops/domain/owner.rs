//! `owner`: who owns a thing, by the most specific rule, and which rule that was.
//!
//! From the most specific to the least: an ownership that an author stated for the thing itself; the rule of a
//! CODEOWNERS file that matched its path last (a rule without an owner says *unowned*, and is an answer); the same for
//! the file that it is the asset of, or the asset that it is the file of; the same for what contains it.

use serde::{Deserialize, Serialize};

use crate::budget::{Answer, Applied, Budgets, Interrupt, Limit, Meter, Reason};
use crate::engine::lens::{Edge, Filter, Kinds, Lens};
use crate::engine::witnesses::TopicIx;
use crate::error::Error;
use crate::id::EntityIx;
use crate::ops::look::{Look, question};
use crate::ops::shape::{EdgeShown, Node, show_edge, show_node, to_json};
use crate::ops::subject::{Subject, SubjectShown, describe};
use crate::ops::walk::generic::types;

/// How far up the containers are followed.
const CONTAINERS_MAX: usize = 8;

/// The question of `owner`.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OwnerRequest {
    /// What is asked about.
    pub subject: Subject,
    /// The most owners to list.
    #[serde(default = "owners_max")]
    pub limit: u32,
    /// How to look at the graph.
    #[serde(flatten)]
    pub look: Look,
}

fn owners_max() -> u32 {
    Budgets::default().fan_out
}

/// Who owns it.
#[derive(Clone, PartialEq, Debug, Serialize, schemars::JsonSchema)]
pub struct Owners {
    /// What the question was about.
    pub subject: SubjectShown,
    /// The owners, best evidence first; none when a rule says so or when no rule matches.
    pub nodes: Vec<Node>,
    /// The relations that say so.
    pub edges: Vec<EdgeShown>,
    /// What decided.
    pub decided_by: Decided,
}

/// What decided an ownership.
#[derive(Clone, PartialEq, Debug, Serialize, schemars::JsonSchema)]
pub struct Decided {
    /// `explicit` (an author said so), `rule` (a CODEOWNERS rule), `unowned` (a rule without an owner), `none`.
    pub by: &'static str,
    /// The rule: its pattern, the file that it stands in, and its line where that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<serde_json::Value>,
    /// The thing whose ownership was inherited, where it isn't the subject's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub through: Option<SubjectShown>,
}

/// Finds the owners. Costs the OWNS relations of the subject and of what stands between it and the deciding thing.
///
/// # Errors
/// An unknown or ambiguous subject.
pub fn owner(lens: &Lens, request: &OwnerRequest, interrupt: Interrupt) -> Result<Answer<Owners>, Error> {
    let limit = crate::budget::within("limit", request.limit, 1, Budgets::CEILING.fan_out)?;
    let subject = request.subject.resolve_there(lens)?;
    let filter = |out: bool, names: &[&str]| -> Result<Filter, Error> {
        let names: Vec<crate::Name> = names.iter().map(|name| crate::Name::from(*name)).collect();
        Ok(Filter { out, into: !out, types: types(lens, &names)?, kinds: Kinds::default() })
    };
    let owns = filter(false, &["OWNS"])?;
    let (imported, body_of) = (filter(true, &["IMPORTED_AS"])?, filter(false, &["IMPORTED_AS"])?);
    let contained = filter(false, &["CONTAINS"])?;
    let mut line = vec![subject];
    let mut next = 0;
    while next < line.len() && line.len() <= CONTAINERS_MAX + 2 {
        let twins = lens.edges(line[next], &imported).chain(lens.edges(line[next], &body_of));
        let containers = lens.edges(line[next], &contained).take(1);
        let further: Vec<EntityIx> = twins.chain(containers).map(|edge| edge.far).collect();
        for thing in further {
            if !line.contains(&thing) {
                line.push(thing);
            }
        }
        next += 1;
    }
    let applied = Applied { depth: CONTAINERS_MAX as u32, budgets: Budgets { fan_out: limit, ..Budgets::default() } };
    let mut meter = Meter::new(question("owner", lens), applied, interrupt);
    meter.seed(subject);
    for thing in line {
        let through = (thing != subject).then(|| describe(lens, thing));
        let owners: Vec<Edge> = lens.edges(thing, &owns).collect();
        let link = lens.engine().names.find("link");
        let (ruled, stated): (Vec<Edge>, Vec<Edge>) =
            owners.into_iter().partition(|edge| Some(lens.engine().relation(edge.relation).origin) == link);
        if !stated.is_empty() {
            return Ok(answer(lens, subject, Decided { by: "explicit", rule: None, through }, &stated, meter));
        }
        if let Some(first) = ruled.first() {
            let rule = Some(rule_of(lens, first));
            return Ok(answer(lens, subject, Decided { by: "rule", rule, through }, &ruled, meter));
        }
        if let Some(rule) = lens.prop(TopicIx::Entity(thing), "unowned_by") {
            let decided = Decided { by: "unowned", rule: Some(to_json(&rule)), through };
            return Ok(answer(lens, subject, decided, &[], meter));
        }
    }
    Ok(answer(lens, subject, Decided { by: "none", rule: None, through: None }, &[], meter))
}

/// The pattern and file of the rule behind an OWNS relation, and its line.
fn rule_of(lens: &Lens, edge: &Edge) -> serde_json::Value {
    let shown = show_edge(lens, edge.relation);
    let mut rule = shown.props;
    if let Some(place) = shown.place {
        rule.insert("place".into(), to_json(&place));
    }
    serde_json::Value::Object(rule)
}

fn answer(lens: &Lens, subject: EntityIx, decided_by: Decided, owners: &[Edge], mut meter: Meter) -> Answer<Owners> {
    let (mut nodes, mut edges) = (Vec::new(), Vec::new());
    let limit = meter.fan_out();
    for edge in owners.iter().take(limit) {
        if meter.admit(edge.relation, edge.far).is_break() {
            break;
        }
        let node = show_node(lens, edge.far, lens.label(edge.far), 1);
        if !nodes.contains(&node) {
            nodes.push(node);
        }
        edges.push(show_edge(lens, edge.relation));
    }
    let omitted = (owners.len() - edges.len()) as u64;
    let reason = Reason {
        limit: meter.stopped().unwrap_or(Limit::FanOut),
        at: Some(lens.engine().entity(subject).id),
        omitted,
        by_type: [("OWNS".into(), omitted)].into(),
        by_trust: Default::default(),
        exact: true,
    };
    let reasons = if omitted > 0 { vec![reason] } else { Vec::new() };
    let found = Owners { subject: describe(lens, subject), nodes, edges, decided_by };
    meter.answer(found, reasons, None)
}
