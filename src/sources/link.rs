//! What no source can say alone: which file is the body of which asset, and who owns what.
//!
//! A pure function of the content of the graph, run after all sources. The rebuild fills [`Linkable`] from what the
//! *other* sources say: were the words of `link` itself among it, a file that only `link` still speaks of would keep
//! itself alive for ever.
//!
//! 1. The same content gives the same groups, whatever the order of the rows.
//! 2. The trust of a linked fact is the lowest along its derivation: of the path it is about, and of the rules.
//! 3. The line of a rule is a place, not a property: a comment added above the rules changes no relation.
//! 4. A path whose deciding rule names nobody is said to be unowned (property [`UNOWNED_BY`]); a path without a
//!    deciding rule is not spoken of.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::ownership::{RuleFile, Rulebook, Ruling};
use super::{Parsed, Report};
use crate::evidence::{GroupKey, Trust};
use crate::key::{EntityKey, Name};
use crate::observation::{Group, Observation};
use crate::value::{Props, Value};

/// The source instance, and the origin of every relation that it makes.
pub const LINK: &str = "link";

/// The property of a File or UnityAsset whose deciding rule names no owner: the rule's `pattern` and `rule_file`.
pub const UNOWNED_BY: &str = "unowned_by";

/// What can be linked, as sources other than `link` have it.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Linkable {
    /// Every File.
    pub files: Vec<Placed>,
    /// Every UnityAsset that has a path and is not external.
    pub assets: Vec<Placed>,
    /// Every CODEOWNERS.
    pub rules: Vec<RuleFile>,
}

/// An entity that lies at a path.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Placed {
    /// The entity.
    pub key: EntityKey,
    /// Its path, repository-relative.
    pub path: Name,
    /// How far it may be believed that it lies there.
    pub trust: Trust,
}

/// Makes the facts across sources: the groups `imported_as` and `owns`, and a report.
///
/// Costs O(files + assets) look-ups, each in as many steps as the path has components.
pub fn link(content: &Linkable) -> Parsed {
    let mut report = Report::default();
    let (rulebook, findings) = Rulebook::new(&content.rules);
    for finding in findings {
        report.defect(finding.place, &finding.reason, finding.detail);
    }
    let groups = vec![group("imported_as", imported_as(content)), group("owns", owns(content, &rulebook, &mut report))];
    Parsed { groups, report, ..Parsed::default() }
}

fn group(name: &str, mut observations: Vec<Observation>) -> Group {
    // Where a key came twice, the better trusted row speaks; a group says a fact once.
    observations.sort_by(|one, other| (&one.sighted, other.trust).cmp(&(&other.sighted, one.trust)));
    observations.dedup_by(|later, first| later.sighted == first.sighted);
    Group { key: GroupKey::new(LINK, name), revision: None, observations }
}

/// File IMPORTED_AS UnityAsset, where both lie at one path.
fn imported_as(content: &Linkable) -> Vec<Observation> {
    let mut assets: BTreeMap<&str, Vec<&Placed>> = BTreeMap::new();
    for asset in &content.assets {
        assets.entry(&asset.path).or_default().push(asset);
    }
    let mut observations = Vec::new();
    for file in &content.files {
        for asset in assets.get(&*file.path).into_iter().flatten() {
            let mut imported = Observation::relation(file.key.clone(), "IMPORTED_AS", asset.key.clone(), LINK);
            imported.trust = file.trust.min(asset.trust);
            imported.place = Some(Value::from(&file.path));
            observations.push(imported);
        }
    }
    observations
}

/// Owner OWNS File or UnityAsset, by the rule that decides its path.
fn owns(content: &Linkable, rulebook: &Rulebook, report: &mut Report) -> Vec<Observation> {
    let mut observations = Vec::new();
    for placed in content.files.iter().chain(&content.assets) {
        let Some(ruling) = rulebook.decide(&placed.path) else {
            report.count("no_rule");
            continue;
        };
        if ruling.rule.owners.is_empty() {
            report.count("unowned");
            let rule = Value::Map(Arc::new(rule_props(ruling)));
            observations.push(said(
                Observation::entity(placed.key.clone()).with(UNOWNED_BY, Some(rule)),
                placed,
                ruling,
            ));
        } else {
            report.count("owned");
        }
        for owner in &ruling.rule.owners {
            let owner = EntityKey::new("Owner", "ownership", owner);
            let mut owns = Observation::relation(owner, "OWNS", placed.key.clone(), LINK);
            owns.props = rule_props(ruling);
            observations.push(said(owns, placed, ruling));
        }
    }
    observations
}

fn said(mut observation: Observation, placed: &Placed, ruling: Ruling<'_>) -> Observation {
    observation.trust = placed.trust.min(ruling.trust);
    observation.place = Some(Value::from(format!("{}:L{}", ruling.file.external_id, ruling.rule.line)));
    observation
}

fn rule_props(ruling: Ruling<'_>) -> Props {
    Props::from([
        ("pattern".into(), Value::from(&ruling.rule.pattern)),
        ("rule_file".into(), Value::from(&ruling.file.external_id)),
    ])
}

#[cfg(test)]
mod tests;
