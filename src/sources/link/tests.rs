//! Small graphs, and every fact that follows from them, spelled out.

use super::*;
use crate::observation::Sighted;

fn placed(kind: &str, id: &str, path: &str, trust: Trust) -> Placed {
    let authority = if kind == "File" { "repo" } else { "unity" };
    Placed { key: EntityKey::new(kind, authority, id), path: path.into(), trust }
}

fn rule_file(path: &str, base: &str, rules: &str, trust: Trust) -> RuleFile {
    let key = EntityKey::new("File", "repo", path);
    RuleFile { key, base: base.into(), rules: serde_json::from_str(rules).unwrap(), trust }
}

fn content() -> Linkable {
    let file = |path: &str| placed("File", path, path, Trust::Authoritative);
    let guessed = "game/Assets/guess.png";
    Linkable {
        files: vec![
            file("CODEOWNERS"),
            file("README.md"),
            file("game/Assets/Hero.png"),
            file("game/vendor/lib.c"),
            placed("File", guessed, guessed, Trust::Hypothesis),
        ],
        assets: vec![
            placed("UnityAsset", "aa11", "game/Assets/Hero.png", Trust::Derived),
            placed("UnityAsset", "bb22", "game/vendor", Trust::Authoritative),
        ],
        rules: vec![rule_file(
            "CODEOWNERS",
            "",
            r#"[[1,"/game/",["@code","jo@x.org"]],[3,"*.png",["@art"]],[4,"vendor",[]]]"#,
            Trust::Authoritative,
        )],
    }
}

fn shown(parsed: &Parsed) -> Vec<String> {
    let line = |group: &Group, seen: &Observation| {
        let sighted = match &seen.sighted {
            Sighted::Entity(key) => key.external_id.to_string(),
            Sighted::Relation { source, target, kind, origin } => {
                assert_eq!(&**origin, LINK);
                format!("{} {kind} {}", source.external_id, target.external_id)
            }
        };
        let props = Value::Map(Arc::new(seen.props.clone())).canonical();
        let place = seen.place.as_ref().and_then(Value::as_str).unwrap_or("nowhere");
        format!("{} | {sighted} | {props} | {} | {place}", group.key.group, seen.trust)
    };
    parsed.groups.iter().flat_map(|group| group.observations.iter().map(move |seen| line(group, seen))).collect()
}

#[test]
fn files_meet_their_assets_and_their_owners() {
    let parsed = link(&content());
    let art = r#"{"pattern":"*.png","rule_file":"CODEOWNERS"}"#;
    let nobody = r#"{"unowned_by":{"pattern":"vendor","rule_file":"CODEOWNERS"}}"#;
    assert_eq!(
        shown(&parsed),
        [
            "imported_as | game/Assets/Hero.png IMPORTED_AS aa11 | {} | derived | game/Assets/Hero.png".to_owned(),
            format!("owns | game/vendor/lib.c | {nobody} | authoritative | CODEOWNERS:L4"),
            format!("owns | bb22 | {nobody} | authoritative | CODEOWNERS:L4"),
            format!("owns | @art OWNS game/Assets/Hero.png | {art} | authoritative | CODEOWNERS:L3"),
            format!("owns | @art OWNS game/Assets/guess.png | {art} | hypothesis | CODEOWNERS:L3"),
            format!("owns | @art OWNS aa11 | {art} | derived | CODEOWNERS:L3"),
        ]
    );
    let counts = &parsed.report.counts;
    assert_eq!((counts["owned"], counts["unowned"], counts["no_rule"]), (3, 2, 2));
}

#[test]
fn every_owner_of_a_rule_owns() {
    let mut content = content();
    content.files.retain(|file| &*file.path == "game/vendor/lib.c");
    content.assets.clear();
    content.rules[0].rules = serde_json::from_str(r#"[[7,"*.c",["@b","@a"]]]"#).unwrap();
    content.rules[0].trust = Trust::Derived;
    let props = r#"{"pattern":"*.c","rule_file":"CODEOWNERS"}"#;
    assert_eq!(
        shown(&link(&content)),
        [
            format!("owns | @a OWNS game/vendor/lib.c | {props} | derived | CODEOWNERS:L7"),
            format!("owns | @b OWNS game/vendor/lib.c | {props} | derived | CODEOWNERS:L7"),
        ]
    );
}

/// Incremental equals full only if the order in which the graph lists its rows is no matter.
#[test]
fn the_order_of_rows_does_not_matter() {
    let mut content = content();
    content.rules.push(rule_file(".github/CODEOWNERS", "", r#"[[1,"*",["@all"]]]"#, Trust::Authoritative));
    content.files.push(placed("File", "README.md", "README.md", Trust::Derived));
    let expected = link(&content);
    assert_eq!(expected.report.defects[0].reason, "overruled");
    let readme = shown(&expected).into_iter().find(|line| line.contains("README")).unwrap();
    assert!(readme.contains("| authoritative | .github/CODEOWNERS:L1"), "{readme}");
    content.files.reverse();
    content.assets.reverse();
    content.rules.reverse();
    assert_eq!(link(&content), expected);
}

/// A comment above the rules shifts every line; had relations the line, all of them would get a new version.
#[test]
fn a_shifted_line_is_no_other_fact() {
    let before = link(&content());
    let mut moved = content();
    moved.rules[0].rules =
        serde_json::from_str(r#"[[2,"/game/",["@code","jo@x.org"]],[4,"*.png",["@art"]],[5,"vendor",[]]]"#).unwrap();
    let after = link(&moved);
    assert_ne!(before, after);
    let without_place = |mut parsed: Parsed| {
        parsed.groups.iter_mut().flat_map(|group| &mut group.observations).for_each(|seen| seen.place = None);
        parsed
    };
    assert_eq!(without_place(before), without_place(after));
}

#[test]
fn nothing_links_to_nothing() {
    let parsed = link(&Linkable::default());
    assert_eq!(parsed.groups.len(), 2);
    assert!(parsed.groups.iter().all(|group| group.observations.is_empty()));
}
