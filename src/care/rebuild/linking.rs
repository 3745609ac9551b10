//! What the phase `link` is given: the content of the graph, as sources other than `link` have it.
//!
//! 1. The words of `link` itself are not heard here: were they, a file that nobody else speaks of any more would keep
//!    itself alive.

use std::cmp::Ordering;

use crate::engine::belief::{self, Hearing};
use crate::engine::lens::{Lens, View};
use crate::engine::state::Engine;
use crate::evidence::Trust;
use crate::id::{EntityIx, VoiceIx};
use crate::key::Name;
use crate::sources::Parsed;
use crate::sources::link::{LINK, Linkable, Placed};
use crate::sources::ownership::{BASE, RULES, RuleFile};
use crate::value::Value;

/// The facts across sources that follow from what the graph holds. Costs one look at every entity.
pub(super) fn link(view: &View) -> Parsed {
    crate::sources::link::link(&linkable(&view.lens().trust_floor(Trust::Hypothesis)))
}

fn linkable(lens: &Lens) -> Linkable {
    let engine = lens.engine();
    let others = Others(engine);
    let mut content = Linkable::default();
    for ix in (0..engine.entities.len()).map(EntityIx::nth) {
        let row = engine.entity(ix);
        let is_file = row.key.kind == "File";
        if !is_file && row.key.kind != "UnityAsset" {
            continue;
        }
        let Some(held) = belief::existence(&row.history, lens.moment(), &others).held().copied() else { continue };
        let prop = |name: &str| {
            let name = engine.names.find(name)?;
            Some(belief::property(&row.history, name, lens.moment(), &others)?.value)
        };
        let path = prop("path").as_ref().and_then(Value::as_str).map(Name::from);
        let path = if is_file { Some(path.unwrap_or_else(|| row.key.external_id.clone())) } else { path };
        let Some(path) = path else { continue };
        if is_file && let Some(rules) = prop(RULES) {
            let base = prop(BASE).as_ref().and_then(Value::as_str).unwrap_or_default().into();
            content.rules.push(RuleFile { key: row.key.clone(), base, rules, trust: held.trust });
        }
        let placed = Placed { key: row.key.clone(), path, trust: held.trust };
        if is_file { content.files.push(placed) } else { content.assets.push(placed) }
    }
    content
}

/// Everybody but `link`.
struct Others<'a>(&'a Engine);

impl Hearing for Others<'_> {
    fn hears(&self, voice: VoiceIx) -> bool {
        let witnesses = &self.0.witnesses;
        witnesses.group_of(voice).is_none_or(|group| witnesses.group_at(group).key.source != LINK)
    }

    fn floor(&self) -> Trust {
        Trust::Hypothesis
    }

    fn by_name(&self, a: VoiceIx, b: VoiceIx) -> Ordering {
        self.0.witnesses.by_name(a, b)
    }

    fn same_source(&self, a: VoiceIx, b: VoiceIx) -> bool {
        self.0.witnesses.same_source(a, b)
    }
}
