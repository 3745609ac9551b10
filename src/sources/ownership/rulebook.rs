//! All the CODEOWNERS of a graph, and which of them speaks for a path.
//!
//! Every file has a base. For one base only one file counts, as on GitHub: the one in `.github/`, else the one at the
//! base itself, else the one in `docs/`, else (GitLab's place) the one in `.gitlab/`. A path belongs to the deepest base
//! that it lies beneath, and to no other: a repository within the repository is a realm of its own, and where its file
//! has no rule for a path, the outer one is not asked.

use std::collections::BTreeMap;

use super::rules::{Rule, Rules, beneath};
use crate::evidence::Trust;
use crate::key::{EntityKey, Name};
use crate::sources::Finding;
use crate::value::Value;

/// A CODEOWNERS file as the graph holds it.
#[derive(Clone, PartialEq, Debug)]
pub struct RuleFile {
    /// The File.
    pub key: EntityKey,
    /// Its property [`BASE`](super::BASE).
    pub base: Name,
    /// Its property [`RULES`](super::RULES).
    pub rules: Value,
    /// How far its rules may be believed.
    pub trust: Trust,
}

/// The rules in force.
#[derive(Clone, Debug, Default)]
pub struct Rulebook {
    by_base: BTreeMap<Name, Charter>,
}

#[derive(Clone, Debug)]
struct Charter {
    key: EntityKey,
    rules: Rules,
    trust: Trust,
}

/// The word on one path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ruling<'a> {
    /// The CODEOWNERS that decides.
    pub file: &'a EntityKey,
    /// Its last rule that matches.
    pub rule: &'a Rule,
    /// How far the rule may be believed.
    pub trust: Trust,
}

impl Rulebook {
    /// The files in force, and a finding for each one that is not.
    ///
    /// The order of `files` does not matter.
    pub fn new(files: &[RuleFile]) -> (Rulebook, Vec<Finding>) {
        let mut files: Vec<&RuleFile> = files.iter().collect();
        files.sort_by_key(|file| (&file.base, rank(file), &file.key));
        let mut by_base: BTreeMap<Name, Charter> = BTreeMap::new();
        let mut findings = Vec::new();
        for file in files {
            let place = file.key.external_id.to_string();
            if let Some(first) = by_base.get(&file.base) {
                let first = &first.key.external_id;
                let detail =
                    format!("{first} stands for {:?}; of several CODEOWNERS the first one counts", &*file.base);
                findings.push(Finding { place, reason: "overruled".into(), detail });
                continue;
            }
            let rules = Rules::from_value(&file.rules).unwrap_or_else(|error| {
                findings.push(Finding { place, reason: "malformed_rules".into(), detail: error.to_string() });
                Rules::default()
            });
            by_base.insert(file.base.clone(), Charter { key: file.key.clone(), rules, trust: file.trust });
        }
        (Rulebook { by_base }, findings)
    }

    /// The rule that decides `path`, by the file of the deepest base above it. `None` where no rule matches.
    pub fn decide(&self, path: &str) -> Option<Ruling<'_>> {
        let above = path.rmatch_indices('/').map(|(at, _)| &path[..at]).chain([""]);
        let (base, charter) = above.into_iter().find_map(|base| self.by_base.get_key_value(base))?;
        let rule = charter.rules.deciding(beneath(base, path)?)?;
        Some(Ruling { file: &charter.key, rule, trust: charter.trust })
    }
}

/// The place of a file among those of its base: the lowest counts.
fn rank(file: &RuleFile) -> u8 {
    let within = beneath(&file.base, &file.key.external_id).unwrap_or_default();
    match within.split_once('/') {
        Some((".github", _)) => 0,
        None => 1,
        Some(("docs", _)) => 2,
        Some(_) => 3,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, base: &str, rules: &str) -> RuleFile {
        let key = EntityKey::new("File", "repo", path);
        RuleFile { key, base: base.into(), rules: serde_json::from_str(rules).unwrap(), trust: Trust::Authoritative }
    }

    fn decided(book: &Rulebook, path: &str) -> String {
        let shown = |ruling: Ruling<'_>| format!("{}:{}", ruling.file.external_id, ruling.rule.line);
        book.decide(path).map(shown).unwrap_or_default()
    }

    /// A stale file in `docs/` must not take reviews from the one that the forge reads.
    #[test]
    fn of_one_base_the_first_place_counts() {
        let rules = r#"[[1,"*",["@a"]]]"#;
        let places = [".github/CODEOWNERS", "CODEOWNERS", "docs/CODEOWNERS", ".gitlab/CODEOWNERS"];
        for first in 0..places.len() {
            let mut files: Vec<RuleFile> = places[first..].iter().map(|path| file(path, "", rules)).collect();
            for _ in 0..2 {
                let (book, findings) = Rulebook::new(&files);
                assert_eq!(decided(&book, "x"), format!("{}:1", places[first]));
                assert_eq!(findings.len(), files.len() - 1);
                assert!(findings.iter().all(|finding| finding.reason == "overruled"));
                files.reverse();
            }
        }
    }

    #[test]
    fn the_deepest_base_decides_alone() {
        let (book, findings) = Rulebook::new(&[
            file("CODEOWNERS", "", r#"[[1,"*",["@a"]],[2,"*.cs",["@b"]]]"#),
            file("game/.github/CODEOWNERS", "game", r#"[[5,"/Assets/",["@c"]]]"#),
            file("game/mods/CODEOWNERS", "game/mods", "[]"),
        ]);
        assert_eq!(findings, []);
        for (path, expected) in [
            ("a.cs", "CODEOWNERS:2"),
            ("Assets/a", "CODEOWNERS:1"),
            ("gamepad/a.cs", "CODEOWNERS:2"),
            ("game", "CODEOWNERS:1"),
            ("game/Assets/a.cs", "game/.github/CODEOWNERS:5"),
            ("game/a.cs", ""),
            ("game/mods/Assets/a.cs", ""),
        ] {
            assert_eq!(decided(&book, path), expected, "{path}");
        }
        assert_eq!(Rulebook::default().decide("a"), None);
    }

    /// Rules that can't be read say nothing, but their base stays theirs.
    #[test]
    fn malformed_rules_are_reported() {
        let (book, findings) =
            Rulebook::new(&[file("CODEOWNERS", "", r#"[[1,"*",["@a"]]]"#), file("game/CODEOWNERS", "game", "[1]")]);
        assert_eq!(findings[0].reason, "malformed_rules");
        assert_eq!(decided(&book, "game/a"), "");
        assert_eq!(decided(&book, "a"), "CODEOWNERS:1");
    }
}
