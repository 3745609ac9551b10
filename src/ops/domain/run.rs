//! Runs a row of the pattern table.

use serde::{Deserialize, Serialize};

use super::patterns::Row;
use crate::budget::{Answer, Applied, Budgets, Interrupt, Meter, within};
use crate::engine::lens::{Filter, Kinds, Lens};
use crate::error::Error;
use crate::key::Name;
use crate::ops::look::{Look, question};
use crate::ops::shape::{Detail, Expansion, shape};
use crate::ops::subject::Subject;
use crate::ops::walk::account::account;
use crate::ops::walk::expand::{DECAY, Plan, Step, expand};
use crate::ops::walk::generic::types;

/// A question of the pattern table.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DomainRequest {
    /// What is asked about.
    pub subject: Subject,
    /// How many hops; the row's own depth when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub depth: Option<u32>,
    /// The budgets.
    #[serde(default)]
    pub budgets: Budgets,
    /// How much the answer spells out.
    #[serde(default)]
    pub detail: Detail,
    /// How to look at the graph.
    #[serde(flatten)]
    pub look: Look,
}

impl DomainRequest {
    /// A question about a subject, with every default.
    pub fn about(subject: Subject) -> DomainRequest {
        DomainRequest { subject, depth: None, budgets: Budgets::default(), detail: Detail::Full, look: Look::default() }
    }
}

/// Runs a row. Costs the matching relations of the entities that it expands, at most `fan_out` of each.
///
/// # Errors
/// An unknown or ambiguous subject, a subject of a kind that the row can't be asked about, a bound above its ceiling.
pub(crate) fn run(
    lens: &Lens,
    row: &'static Row,
    request: &DomainRequest,
    interrupt: Interrupt,
) -> Result<Answer<Expansion>, Error> {
    let depth = within("depth", request.depth.unwrap_or(row.depth), 0, Budgets::DEPTH_CEILING)?;
    let budgets = request.budgets.checked()?;
    let seed = request.subject.resolve_there(lens)?;
    let state = first_state(lens, row, seed)?;
    let plan = plan(lens, row)?;
    let mut meter = Meter::new(question(row.operation, lens), Applied { depth, budgets }, interrupt);
    let reached = expand(lens, &plan, &[(seed, state)], depth, &mut meter);
    let (mut reasons, beyond) = account(lens, &plan, &reached, depth, request.depth.is_some(), &meter);
    let found = shape(lens, &reached, &[seed], plan.decay, request.detail, &meter);
    reasons.extend(found.unfit());
    Ok(meter.answer(found, reasons, beyond))
}

fn first_state(lens: &Lens, row: &Row, seed: crate::id::EntityIx) -> Result<usize, Error> {
    let kind = &lens.engine().entity(seed).key.kind;
    if row.subjects.is_empty() {
        return Ok(0);
    }
    let state = row.subjects.iter().find(|(of, _)| *kind == *of).map(|(_, state)| *state);
    state.ok_or_else(|| {
        let kinds: Vec<&str> = row.subjects.iter().map(|(kind, _)| *kind).collect();
        let message =
            format!("{} is asked about a {}; {:?} is a {kind}", row.operation, kinds.join(", "), lens.label(seed));
        Error::invalid(message).with_details(serde_json::json!({ "expected": kinds, "found": kind }))
    })
}

fn plan(lens: &Lens, row: &Row) -> Result<Plan, Error> {
    let names = |list: &[&str]| list.iter().map(|name| Name::from(*name)).collect::<Vec<_>>();
    let mut states = Vec::with_capacity(row.states.len());
    for patterns in row.states {
        let mut steps = Vec::with_capacity(patterns.len());
        for pattern in *patterns {
            let kinds = if pattern.kinds.is_empty() { Kinds::default() } else { Kinds::only(names(pattern.kinds)) };
            let types = types(lens, &names(pattern.types))?;
            let filter = Filter { out: pattern.out, into: !pattern.out, types, kinds };
            steps.push(Step { filter, to: pattern.to, free: pattern.free });
        }
        states.push(steps);
    }
    Ok(Plan { states, generic: false, decay: row.ranked.then_some(DECAY) })
}
