//! The file groups, while they fill.
//!
//! 1. Rows that say the very same are one observation.
//! 2. Observations of one thing that say different things are numbered by what they say, from 0 in each group.

use std::collections::HashMap;

use crate::evidence::GroupKey;
use crate::key::Name;
use crate::observation::{Group, Observation};
use crate::value::Value;

/// Observations by the name of their group.
#[derive(Default)]
pub(super) struct Groups(HashMap<Name, Vec<Observation>>);

impl Groups {
    /// One more observation for a group.
    pub(super) fn add(&mut self, group: &Name, observation: Observation) {
        match self.0.get_mut(&**group) {
            Some(observations) => observations.push(observation),
            None => drop(self.0.insert(group.clone(), vec![observation])),
        }
    }

    /// The groups of `source`, sorted, and how many rows only repeated another.
    pub(super) fn finish(self, source: &Name) -> (Vec<Group>, u64) {
        let mut repeated = 0;
        let mut groups: Vec<Group> = self
            .0
            .into_iter()
            .map(|(name, mut observations)| {
                let before = observations.len();
                settle(&mut observations);
                repeated += (before - observations.len()) as u64;
                Group { key: GroupKey::new(source, name), revision: None, observations }
            })
            .collect();
        groups.sort_unstable_by(|a, b| a.key.cmp(&b.key));
        (groups, repeated)
    }
}

/// Sorts the observations of a group, drops repetitions, and numbers what remains of each thing.
fn settle(observations: &mut Vec<Observation>) {
    observations.sort_by(|a, b| a.sighted.cmp(&b.sighted).then_with(|| said(a).cmp(&said(b))));
    observations.dedup();
    for i in 1..observations.len() {
        if observations[i].sighted == observations[i - 1].sighted {
            observations[i].record = observations[i - 1].record + 1;
        }
    }
}

/// What an observation says, in an order that no row order changes.
pub(super) fn said(observation: &Observation) -> String {
    let mut text = format!("{} {} ", observation.trust, observation.confidence);
    for (name, value) in &observation.props {
        crate::value::write_text(name, &mut text);
        value.write_canonical(&mut text);
    }
    observation.place.as_ref().unwrap_or(&Value::Null).write_canonical(&mut text);
    text
}
