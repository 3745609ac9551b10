//! Ownership against counted truth, and against the most naive matcher that can be right.

use std::collections::BTreeMap;

use proptest::prelude::*;
use triglyph::evidence::Trust;
use triglyph::persist::roots::Roots;
use triglyph::sources::Source;
use triglyph::sources::link::{Linkable, Placed, link};
use triglyph::sources::ownership::{BASE, Ownership, Pattern, RULES, Rule, RuleFile, Rules, deciding_rule};
use triglyph::{EntityKey, Sighted};

use crate::data;

#[derive(serde::Deserialize)]
struct Case {
    name: String,
    pattern: String,
    paths: BTreeMap<String, bool>,
}

/// What a forge decides and we decide otherwise sends an incident to people who can't help.
#[test]
fn every_known_verdict_holds() {
    let Some(folder) = data::folder() else {
        println!("skipped: there is no data folder; set TRIGLYPH_DATA");
        return;
    };
    let text = std::fs::read_to_string(folder.join("lineage/codeowners/patterns.json")).unwrap();
    let cases: Vec<Case> = serde_json::from_str(&text).unwrap();
    let mut verdicts = 0;
    let checkout = tempfile::tempdir().unwrap();
    for case in &cases {
        let pattern = Pattern::new(&case.pattern).unwrap();
        // The whole way as well: from a file on disk to the property that a reader asks.
        std::fs::write(checkout.path().join("CODEOWNERS"), format!("{} @owner\n", case.pattern)).unwrap();
        let roots = Roots::open(checkout.path()).unwrap();
        let parsed = Ownership::new("main", "CODEOWNERS", "game").parse(&roots, &mut ()).unwrap();
        let props = &parsed.groups[0].observations[0].props;
        assert_eq!(props[BASE].as_str(), Some("game"));
        for (path, expected) in &case.paths {
            verdicts += 1;
            assert_eq!(pattern.matches(path), *expected, "{}: {} on {path}", case.name, case.pattern);
            let decided = deciding_rule(&props[RULES], "game", &format!("game/{path}")).unwrap();
            assert_eq!(decided.is_some(), *expected, "{}: {} on {path}, as a rule", case.name, case.pattern);
        }
    }
    assert_eq!((cases.len(), verdicts), (30, 153));
}

/// From a checkout to its owners, as a rebuild goes.
#[test]
fn a_checkout_gets_its_owners() {
    let checkout = tempfile::tempdir().unwrap();
    std::fs::create_dir(checkout.path().join(".github")).unwrap();
    let path = checkout.path().join(".github/CODEOWNERS");
    std::fs::write(&path, "*.png @Acme/Art\n/Assets/Vendor/\n").unwrap();
    let roots = Roots::file(&path).unwrap();
    let source = Ownership::new("main", roots.only().unwrap(), "game/.github");
    let parsed = source.parse(&roots, &mut ()).unwrap();
    let seen = &parsed.groups[0].observations[0];
    let Sighted::Entity(key) = seen.sighted.clone() else { panic!("the file comes first") };
    let rules = RuleFile {
        key,
        base: seen.props[BASE].as_str().unwrap().into(),
        rules: seen.props[RULES].clone(),
        trust: seen.trust,
    };
    let placed = |path: &str| Placed {
        key: EntityKey::new("File", "repo", path),
        path: path.into(),
        trust: Trust::Authoritative,
    };
    let files = ["game/Assets/Hero.png", "game/Assets/Vendor/x.png", "elsewhere/Hero.png"].map(placed).to_vec();
    let linked = link(&Linkable { files, assets: vec![], rules: vec![rules] });
    let owns: Vec<String> = linked.groups[1]
        .observations
        .iter()
        .map(|seen| match &seen.sighted {
            Sighted::Entity(key) => format!("nobody owns {}", key.external_id),
            Sighted::Relation { source, kind, target, .. } => {
                format!("{} {kind} {}", source.external_id, target.external_id)
            }
        })
        .collect();
    assert_eq!(owns, ["nobody owns game/Assets/Vendor/x.png", "@acme/art OWNS game/Assets/Hero.png"]);
}

/// The definition of a match, tried in every way that there is.
mod naive {
    enum End {
        Nothing,
        Something,
        Anything,
    }

    pub(super) fn matches(pattern: &str, path: &str) -> bool {
        let mut segments: Vec<&str> = pattern.split('/').collect();
        let rooted = segments.len() > 1 && segments[0].is_empty();
        if rooted {
            segments.remove(0);
        }
        let folder = segments.len() > 1 && segments.last() == Some(&"");
        if folder {
            segments.pop();
        }
        if !rooted && segments.len() == 1 {
            segments.insert(0, "**");
        }
        let mut end = match segments.last() {
            _ if folder => End::Something,
            Some(&"*") => End::Nothing,
            _ => End::Anything,
        };
        while segments.last() == Some(&"**") {
            segments.pop();
            end = End::Something;
        }
        let components: Vec<&str> = path.split('/').collect();
        walk(&segments, &components, &end)
    }

    fn walk(segments: &[&str], components: &[&str], end: &End) -> bool {
        match (segments, components) {
            ([], []) => !matches!(end, End::Something),
            ([], _) => !matches!(end, End::Nothing),
            (["**", rest @ ..], _) => (0..=components.len()).any(|taken| walk(rest, &components[taken..], end)),
            (_, []) => false,
            ([segment, rest @ ..], [component, behind @ ..]) => {
                let (segment, chars): (Vec<char>, Vec<char>) = (segment.chars().collect(), component.chars().collect());
                !chars.is_empty() && spell(&segment, &chars) && walk(rest, behind, end)
            }
        }
    }

    fn spell(pattern: &[char], text: &[char]) -> bool {
        match (pattern, text) {
            ([], []) => true,
            (['*', rest @ ..], _) => (0..=text.len()).any(|taken| spell(rest, &text[taken..])),
            (['\\', wanted, rest @ ..], [found, behind @ ..]) => wanted == found && spell(rest, behind),
            (['?', rest @ ..], [_, behind @ ..]) => spell(rest, behind),
            ([wanted, rest @ ..], [found, behind @ ..]) => wanted == found && spell(rest, behind),
            _ => false,
        }
    }
}

fn pattern() -> impl Strategy<Value = String> {
    let segment = prop_oneof![
        3 => Just("**".to_owned()),
        1 => Just("*".to_owned()),
        4 => "[ab.é]{1,2}",
        4 => r"(\*|[ab.?é]|\\[*?a]){1,4}",
    ];
    ("/?", prop::collection::vec(segment, 1..6), "/?")
        .prop_map(|(start, segments, end)| format!("{start}{}{end}", segments.join("/")))
        .prop_filter("no such pattern", |text| !text.contains("***"))
}

fn path() -> impl Strategy<Value = String> {
    prop::collection::vec("[ab.é*?]{1,3}", 1..7).prop_map(|components| components.join("/"))
}

fn config(cases: u32) -> ProptestConfig {
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(config(4_000))]

    #[test]
    fn a_pattern_matches_what_the_naive_one_matches(pattern in pattern(), paths in prop::collection::vec(path(), 8)) {
        let compiled = Pattern::new(&pattern).unwrap();
        for path in paths {
            prop_assert_eq!(compiled.matches(&path), naive::matches(&pattern, &path), "{} on {}", pattern, path);
        }
    }
}

proptest! {
    #![proptest_config(config(500))]

    /// The index over the rules must never change who owns a file.
    #[test]
    fn the_last_match_is_the_last_match(patterns in prop::collection::vec(pattern(), 0..24), paths in prop::collection::vec(path(), 16)) {
        let list = (1..).zip(&patterns).map(|(line, pattern)| Rule { line, pattern: pattern.as_str().into(), owners: vec![] });
        let rules = Rules::new(list.collect()).unwrap();
        for path in paths {
            let expected = patterns.iter().rposition(|pattern| naive::matches(pattern, &path)).map(|at| at as u32 + 1);
            prop_assert_eq!(rules.deciding(&path).map(|rule| rule.line), expected, "{:?} on {}", patterns, path);
        }
    }
}
