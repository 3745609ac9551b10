//! How far a link of Graphify may be believed: its class, its score, and whether a model made it.
//!
//! EXTRACTED stands in the code, INFERRED follows from it by rule, AMBIGUOUS is a guess. A class has a usual score,
//! which older versions left out. `weight` is none of this: it says how strongly two things hang together.
//!
//! 1. A guess, and any relation that only a model can have found ([`MODELLED`]), is a hypothesis; the rest is derived.

use crate::evidence::{Confidence, Trust};
use crate::sources::Report;
use crate::value::Value;

use super::row::{At, Cell, brief};

/// Relations that no parser of code emits: a model read the texts and proposed them.
const MODELLED: [&str; 4] = ["cites", "conceptually_related_to", "semantically_similar_to", "shares_data_with"];

/// How a link is known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Class {
    /// It stands in the code.
    Extracted,
    /// It follows by rule.
    Inferred,
    /// It is a guess.
    Ambiguous,
}

impl Class {
    const ALL: [Class; 3] = [Class::Extracted, Class::Inferred, Class::Ambiguous];

    /// Graphify's word for it.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Class::Extracted => "EXTRACTED",
            Class::Inferred => "INFERRED",
            Class::Ambiguous => "AMBIGUOUS",
        }
    }

    /// The class that `word` names; another word is reported and is none.
    pub(super) fn read(word: &str, at: At<'_>, report: &mut Report) -> Option<Class> {
        let class = Class::ALL.into_iter().find(|class| class.as_str().eq_ignore_ascii_case(word));
        if class.is_none() {
            let known = Class::ALL.map(Class::as_str).join(", ");
            let detail = format!("expected one of {known} as confidence, found {:?}; taken as none", brief(word));
            report.defect(at.to_string(), "bad_confidence", detail);
        }
        class
    }

    fn usual_score(self) -> Confidence {
        let millionths = match self {
            Class::Extracted => 1_000_000,
            Class::Inferred => 550_000,
            Class::Ambiguous => 200_000,
        };
        Confidence::from_millionths(millionths).unwrap_or(Confidence::ONE)
    }
}

/// The score in `cell`; one that is no number from 0 to 1 is reported and is none.
pub(super) fn score(cell: &Cell<'_>, at: At<'_>, report: &mut Report) -> Option<Confidence> {
    let number = match cell {
        Cell::Value(Value::Null) => return None,
        Cell::Value(Value::Int(int)) => Some(*int as f64),
        Cell::Value(Value::Float(float)) => Some(*float),
        _ => None,
    };
    let score = number.and_then(|number| Confidence::new(number).ok());
    if score.is_none() {
        let detail =
            "expected a confidence_score from 0 to 1, found something else; the usual one of its class is taken";
        report.defect(at.to_string(), "bad_score", detail);
    }
    score
}

/// The confidence in a link: its score, or the usual one of its class. A link that says neither is taken as inferred:
/// nothing tells that it stands in the code.
pub(super) fn confidence(class: Option<Class>, score: Option<Confidence>) -> Confidence {
    score.unwrap_or_else(|| class.unwrap_or(Class::Inferred).usual_score())
}

/// The trust in a link.
pub(super) fn trust(class: Option<Class>, relation: &str) -> Trust {
    if class == Some(Class::Ambiguous) || MODELLED.contains(&relation) { Trust::Hypothesis } else { Trust::Derived }
}
