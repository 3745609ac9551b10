//! How a request looks at the graph: the fields that every read takes.
//!
//! A read function is handed a lens, and the lens counts; these fields are how a face that knows only the request makes
//! that lens.

use serde::{Deserialize, Serialize};

use crate::budget::Question;
use crate::engine::lens::{Lens, View};
use crate::error::Error;
use crate::evidence::Trust;
use crate::id::Seq;
use crate::key::Name;
use crate::time::Time;

/// As of when, as recorded when, and which witnesses count.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Look {
    /// What was true at this time (RFC 3339 with an offset, or a date).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub as_of: Option<Time>,
    /// What this store knew at this sequence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub as_recorded: Option<Seq>,
    /// The least trust that counts: `derived` by default; `hypothesis` only with `investigation`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trust_floor: Option<Trust>,
    /// Shows hypotheses too, unless a higher floor is given.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub investigation: bool,
    /// Only what a witness of exactly this revision says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revision: Option<Name>,
    /// The present, as the caller's clock has it; faces fill it in.
    #[serde(skip)]
    pub now: Option<Time>,
}

impl Look {
    /// The lens that looks so.
    ///
    /// # Errors
    /// `invalid` for a sequence yet to come, or for hypotheses without `investigation`.
    pub fn lens(&self, view: &View) -> Result<Lens, Error> {
        let floor = match (self.trust_floor, self.investigation) {
            (Some(Trust::Hypothesis), false) => {
                return Err(Error::invalid(
                    "hypotheses are shown to investigations alone; set \"investigation\": true as well",
                ));
            }
            (Some(floor), _) => floor,
            (None, true) => Trust::Hypothesis,
            (None, false) => Trust::Derived,
        };
        let mut lens = view.lens().trust_floor(floor);
        if let Some(now) = self.now {
            lens = lens.at(now.max(view.stamp()));
        }
        if let Some(as_of) = self.as_of {
            lens = lens.as_of(as_of);
        }
        if let Some(recorded) = self.as_recorded {
            lens = lens.as_recorded(recorded)?;
        }
        if let Some(revision) = &self.revision {
            lens = lens.revision(revision);
        }
        Ok(lens)
    }
}

/// The question that a read asks, as its answer names it.
pub(crate) fn question(operation: &'static str, lens: &Lens) -> Question {
    let scope = lens.view().scope();
    Question {
        operation,
        workspace: scope.workspace().into(),
        game: scope.game().into(),
        seq: lens.recorded(),
        as_of: lens.asked(),
    }
}
