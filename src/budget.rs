//! Bounds, and the only maker of answers.
//!
//! An expansion is one sequence of admissions: a relation and, if it is new, the entity at its far end. A `Meter`
//! takes the admissions in order and stops the sequence at the first that would exceed a budget, so that an answer under
//! smaller budgets is a prefix of the answer under larger ones. Only a meter makes an [`Answer`], and an answer always
//! says which bounds applied and what they cost; bounded evidence can't pass for a complete graph.
//!
//! 1. No budget lies above its ceiling; asking for more is an error, not a silent clamp.
//! 2. An answer is truncated if and only if it has a reason.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use serde::{Deserialize, Serialize};

use crate::error::{Code, Error};
use crate::evidence::Trust;
use crate::id::{EntityId, EntityIx, PositionMap, RelationIx, Seq};
use crate::key::Name;
use crate::time::Time;

/// How much an answer may hold.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Budgets {
    /// The most entities, subjects included.
    pub nodes: u32,
    /// The most relations.
    pub edges: u32,
    /// The most relations that one entity offers, best first.
    pub fan_out: u32,
}

impl Default for Budgets {
    fn default() -> Budgets {
        Budgets { nodes: 500, edges: 2_000, fan_out: 64 }
    }
}

impl Budgets {
    /// The hard ceilings.
    pub const CEILING: Budgets = Budgets { nodes: 10_000, edges: 50_000, fan_out: 4_096 };

    /// The greatest depth that a question may ask for.
    pub const DEPTH_CEILING: u32 = 32;

    /// The budgets, if each lies within 1 and its ceiling.
    ///
    /// # Errors
    /// `above_ceiling` or `invalid`, naming the budget.
    pub fn checked(self) -> Result<Budgets, Error> {
        within("nodes", self.nodes, 1, Budgets::CEILING.nodes)?;
        within("edges", self.edges, 0, Budgets::CEILING.edges)?;
        within("fan_out", self.fan_out, 1, Budgets::CEILING.fan_out)?;
        Ok(self)
    }
}

/// Refuses a bound outside its range.
pub(crate) fn within(what: &str, value: u32, least: u32, ceiling: u32) -> Result<u32, Error> {
    if value > ceiling {
        let message = format!("{what} {value} is above the ceiling of {ceiling}; ask for less");
        return Err(Error::new(Code::AboveCeiling, message)
            .with_details(serde_json::json!({ "budget": what, "asked": value, "ceiling": ceiling })));
    }
    if value < least {
        return Err(Error::invalid(format!("expected {what} of at least {least}, found {value}")));
    }
    Ok(value)
}

/// What cut an answer.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    /// The budget of entities was spent.
    Nodes,
    /// The budget of relations was spent.
    Edges,
    /// An entity had more matching relations than it may offer.
    FanOut,
    /// An entity was not expanded because it, or the subject that led to it, has more relations than the fan-out.
    Supernode,
    /// The default depth ended here; nobody had asked for it.
    Depth,
    /// The caller's hook said stop.
    Interrupt,
    /// A list was longer than its limit; the cursor goes on.
    Rows,
    /// More lines than fit into an answer of lines; what they tell was found, and `ids` or `full` shows it.
    Lines,
}

impl Limit {
    /// The text of the limit.
    pub fn as_str(self) -> &'static str {
        match self {
            Limit::Nodes => "nodes",
            Limit::Edges => "edges",
            Limit::FanOut => "fan_out",
            Limit::Supernode => "supernode",
            Limit::Depth => "depth",
            Limit::Interrupt => "interrupt",
            Limit::Rows => "rows",
            Limit::Lines => "lines",
        }
    }
}

/// One place where an answer was cut, and how much lies beyond.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Reason {
    /// What cut it.
    pub limit: Limit,
    /// At which entity; none where the answer was cut as a whole.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub at: Option<EntityId>,
    /// How many matching relations (or rows, or lines) were left out.
    pub omitted: u64,
    /// The same by relation type.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub by_type: BTreeMap<Name, u64>,
    /// The same by trust.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub by_trust: BTreeMap<Trust, u64>,
    /// Whether `omitted` is exact; else it is a lower bound.
    pub exact: bool,
}

impl Reason {
    /// An answer was cut as a whole, and this many rows or lines were left out.
    pub(crate) fn left_out(limit: Limit, omitted: u64) -> Reason {
        let (by_type, by_trust) = (BTreeMap::new(), BTreeMap::new());
        Reason { limit, at: None, omitted, by_type, by_trust, exact: true }
    }
}

/// The bounds that applied to an answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Applied {
    /// How many hops from the subject.
    pub depth: u32,
    /// The budgets.
    #[serde(flatten)]
    pub budgets: Budgets,
}

/// What leaves: the finding, where it was found, and what bounded it.
#[derive(Clone, PartialEq, Debug, Serialize, schemars::JsonSchema)]
pub struct Answer<T> {
    operation: &'static str,
    scope: AnswerScope,
    seq: Seq,
    as_of: Option<Time>,
    #[serde(skip_serializing_if = "Option::is_none")]
    budgets: Option<Applied>,
    truncated: bool,
    reasons: Vec<Reason>,
    #[serde(skip_serializing_if = "Option::is_none")]
    beyond: Option<u64>,
    #[serde(flatten)]
    found: T,
}

/// The scope, as answers name it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, schemars::JsonSchema)]
pub struct AnswerScope {
    /// The workspace.
    pub workspace: Name,
    /// The game.
    pub game: Name,
}

impl<T> Answer<T> {
    /// The finding.
    pub fn found(&self) -> &T {
        &self.found
    }

    /// Whether anything that matches was left out.
    pub fn truncated(&self) -> bool {
        self.truncated
    }

    /// Why, and how much.
    pub fn reasons(&self) -> &[Reason] {
        &self.reasons
    }

    /// How many matching relations lie deeper than the depth that was asked for.
    pub fn beyond(&self) -> u64 {
        self.beyond.unwrap_or(0)
    }

    /// The bounds that applied.
    pub fn applied(&self) -> Option<Applied> {
        self.budgets
    }

    /// The sequence that was read.
    pub fn seq(&self) -> Seq {
        self.seq
    }

    /// The valid time that was asked for.
    pub fn as_of(&self) -> Option<Time> {
        self.as_of
    }
}

/// What a meter needs to know of the question, to put it on the answer.
#[derive(Clone, Debug)]
pub(crate) struct Question {
    pub(crate) operation: &'static str,
    pub(crate) workspace: Name,
    pub(crate) game: Name,
    pub(crate) seq: Seq,
    pub(crate) as_of: Option<Time>,
}

/// How an admission went.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Admitted {
    /// The relation is in the answer already.
    Again,
    /// The relation is new, its far end was there.
    Relation,
    /// Both are new; the far end is the entity at this place of the answer.
    Both(usize),
}

/// A caller's hook: true means *stop now*. Asked before every admission.
pub type Interrupt<'a> = &'a (dyn Fn() -> bool + Sync);

/// Takes admissions until a budget is spent, then makes the answer.
pub(crate) struct Meter<'a> {
    question: Question,
    applied: Option<Applied>,
    interrupt: Interrupt<'a>,
    nodes: Vec<EntityIx>,
    edges: Vec<RelationIx>,
    places: PositionMap<EntityIx, usize>,
    taken: PositionMap<RelationIx, usize>,
    stopped: Option<Limit>,
}

impl<'a> Meter<'a> {
    /// A meter for an expansion.
    pub(crate) fn new(question: Question, applied: Applied, interrupt: Interrupt<'a>) -> Meter<'a> {
        Meter { applied: Some(applied), interrupt, ..Meter::list(question) }
    }

    /// A meter for a list, whose length is bounded by its own limit.
    pub(crate) fn list(question: Question) -> Meter<'a> {
        Meter {
            question,
            applied: None,
            interrupt: &|| false,
            nodes: Vec::new(),
            edges: Vec::new(),
            places: PositionMap::default(),
            taken: PositionMap::default(),
            stopped: None,
        }
    }

    /// Admits a subject; true when it is new.
    pub(crate) fn seed(&mut self, entity: EntityIx) -> bool {
        let place = self.nodes.len();
        let new = !self.places.contains_key(&entity);
        if new {
            self.places.insert(entity, place);
            self.nodes.push(entity);
        }
        new
    }

    /// Admits a relation and its far end, or ends the sequence.
    pub(crate) fn admit(&mut self, relation: RelationIx, far: EntityIx) -> ControlFlow<(), Admitted> {
        let Some(Applied { budgets, .. }) = self.applied else { return ControlFlow::Break(()) };
        if self.taken.contains_key(&relation) {
            return ControlFlow::Continue(Admitted::Again);
        }
        let new = !self.places.contains_key(&far);
        let limit = if (self.interrupt)() {
            Some(Limit::Interrupt)
        } else if self.edges.len() >= budgets.edges as usize {
            Some(Limit::Edges)
        } else if new && self.nodes.len() >= budgets.nodes as usize {
            Some(Limit::Nodes)
        } else {
            None
        };
        if limit.is_some() {
            self.stopped = limit;
            return ControlFlow::Break(());
        }
        self.taken.insert(relation, self.edges.len());
        self.edges.push(relation);
        if !new {
            return ControlFlow::Continue(Admitted::Relation);
        }
        self.seed(far);
        ControlFlow::Continue(Admitted::Both(self.nodes.len() - 1))
    }

    /// How many relations an entity may offer.
    pub(crate) fn fan_out(&self) -> usize {
        self.applied.map_or(0, |applied| applied.budgets.fan_out as usize)
    }

    /// Whether a relation is in the answer.
    pub(crate) fn has(&self, relation: RelationIx) -> bool {
        self.taken.contains_key(&relation)
    }

    /// The place of a relation in the answer.
    pub(crate) fn edge_place(&self, relation: RelationIx) -> Option<usize> {
        self.taken.get(&relation).copied()
    }

    /// The place of an entity in the answer.
    pub(crate) fn place(&self, entity: EntityIx) -> Option<usize> {
        self.places.get(&entity).copied()
    }

    /// The relations so far, in the order of admission.
    pub(crate) fn edges(&self) -> &[RelationIx] {
        &self.edges
    }

    /// What ended the sequence, if anything did.
    pub(crate) fn stopped(&self) -> Option<Limit> {
        self.stopped
    }

    /// The answer.
    pub(crate) fn answer<T>(self, found: T, mut reasons: Vec<Reason>, beyond: Option<u64>) -> Answer<T> {
        // Interrupted with nothing known to be left out is still interrupted.
        if self.stopped == Some(Limit::Interrupt) && !reasons.iter().any(|reason| reason.limit == Limit::Interrupt) {
            let (by_type, by_trust) = (BTreeMap::new(), BTreeMap::new());
            reasons.push(Reason { limit: Limit::Interrupt, at: None, omitted: 0, by_type, by_trust, exact: false });
        }
        let Question { operation, workspace, game, seq, as_of } = self.question;
        Answer {
            operation,
            scope: AnswerScope { workspace, game },
            seq,
            as_of,
            budgets: self.applied,
            truncated: !reasons.is_empty(),
            reasons,
            beyond,
            found,
        }
    }
}
