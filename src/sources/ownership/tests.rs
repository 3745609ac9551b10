//! The source as a rebuild meets it: what it emits, and what it does with a file that it cannot use.

use std::ops::ControlFlow;

use super::*;
use crate::sources::FileEntry;

/// One file, or what happens instead of reading it.
struct Single(&'static str, Result<Vec<u8>, Error>);

impl SourceFiles for Single {
    fn walk(&self) -> Result<Vec<FileEntry>, Error> {
        Ok(Vec::new())
    }

    fn read(&self, path: &str, _: u64) -> Result<Vec<u8>, Error> {
        assert_eq!(path, self.0);
        self.1.clone()
    }
}

fn parse(file: &'static str, at: &str, content: impl Into<Vec<u8>>) -> Parsed {
    Ownership::new("main", file, at).parse(&Single(file, Ok(content.into())), &mut ()).unwrap()
}

#[test]
fn a_file_says_its_rules_and_its_owners() {
    let parsed = parse(".github/CODEOWNERS", "game", "# ours\n* @Acme/All\n/docs/\n*.cs @acme/all jo@example.com\n");
    assert_eq!(parsed.groups.len(), 1);
    let group = &parsed.groups[0];
    assert_eq!(group.key, GroupKey::new("ownership:main", "game/.github/CODEOWNERS"));
    let revision = group.revision.as_deref().unwrap();
    assert!(revision.starts_with("sha256:") && revision.len() == 7 + 16, "{revision}");

    let shown: Vec<String> = group
        .observations
        .iter()
        .map(|seen| {
            let crate::Sighted::Entity(key) = &seen.sighted else { panic!("no relation is known here") };
            let props: Vec<String> =
                seen.props.iter().map(|(name, value)| format!("{name}={}", value.canonical())).collect();
            format!("{key} {} @{}", props.join(" "), seen.place.as_ref().unwrap().as_str().unwrap())
        })
        .collect();
    assert_eq!(
        shown,
        [
            "File repo:game/.github/CODEOWNERS name=\"CODEOWNERS\" ownership_base=\"game\" \
             ownership_rules=[[2,\"*\",[\"@acme/all\"]],[3,\"/docs/\",[]],[4,\"*.cs\",[\"@acme/all\",\"jo@example.com\"]]] \
             path=\"game/.github/CODEOWNERS\" @game/.github/CODEOWNERS",
            "Owner ownership:@acme/all name=\"@Acme/All\" @game/.github/CODEOWNERS:L2",
            "Owner ownership:jo@example.com name=\"jo@example.com\" @game/.github/CODEOWNERS:L4",
        ]
    );
    let report = &parsed.report;
    assert_eq!(
        (report.files, report.counts["rules"], report.counts["unowned_rules"], report.counts["owners"]),
        (1, 3, 1, 2)
    );
}

#[test]
fn the_base_is_the_root_of_the_repository() {
    for (file, at, expected) in [
        ("CODEOWNERS", "", ""),
        (".github/CODEOWNERS", "", ""),
        ("docs/CODEOWNERS", "", ""),
        (".gitlab/CODEOWNERS", "", ""),
        ("CODEOWNERS", "game", "game"),
        ("CODEOWNERS", "/game/.github/", "game"),
        ("docs/CODEOWNERS", "game/sub", "game/sub"),
        ("mydocs/CODEOWNERS", "", "mydocs"),
        ("docs/docs/CODEOWNERS", "", "docs"),
    ] {
        let parsed = parse(file, at, "* @a");
        assert_eq!(parsed.groups[0].observations[0].props[BASE].as_str(), Some(expected), "{file} at {at}");
    }
}

/// With the last rules cut off, `*` at the top would decide paths that have an owner of their own.
#[test]
fn rules_that_do_not_fit_are_refused_whole() {
    let text: String = (0..40_000).map(|n| format!("/Assets/Folder{n}/ @acme/team\n")).collect();
    let parsed = parse("CODEOWNERS", "", text);
    assert_eq!(parsed.groups, []);
    assert_eq!(parsed.stale, ["CODEOWNERS"]);
    assert_eq!(parsed.report.defects[0].reason, "too_large");
}

/// A file that can't be read today must not take everyone's ownership away.
#[test]
fn an_unreadable_file_is_stale_and_a_missing_one_stops() {
    let source = Ownership::new("main", "CODEOWNERS", "");
    for code in [Code::Io, Code::TooLarge, Code::Invalid] {
        let parsed = source.parse(&Single("CODEOWNERS", Err(Error::new(code, "no"))), &mut ()).unwrap();
        assert_eq!((parsed.groups.len(), &parsed.stale[..]), (0, &["CODEOWNERS".into()][..]));
        assert_eq!(parsed.report.skipped[0].reason, "unreadable");
    }
    let missing = Single("CODEOWNERS", Err(Error::new(Code::NotFound, "no")));
    assert_eq!(source.parse(&missing, &mut ()).unwrap_err().code(), Code::NotFound);
}

#[test]
fn a_run_can_be_cancelled() {
    struct Stop;
    impl Progress for Stop {
        fn step(&mut self, _: u64, _: Option<u64>) -> ControlFlow<()> {
            ControlFlow::Break(())
        }
    }
    let source = Ownership::new("main", "CODEOWNERS", "");
    let error = source.parse(&Single("CODEOWNERS", Ok(vec![])), &mut Stop).unwrap_err();
    assert_eq!(error.code(), Code::Interrupted);
}
