//! Small projects in memory, each with one thing wrong.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use super::*;
use crate::evidence::Trust;
use crate::key::EntityKey;
use crate::observation::{Group, Observation, Sighted};
use crate::sources::{FileEntry, FileKind};
use crate::value::Value;

const HERO: &str = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
const CAPE: &str = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb";
const KIT: &str = "cccccccccccccccccccccccccccccccc";
const SHADER: &str = "0000000000000000f000000000000000";

/// Files in memory; what the walk gives, and in which order, can be bent.
#[derive(Clone, Default)]
struct Memory {
    files: BTreeMap<String, Vec<u8>>,
    refused: BTreeSet<String>,
    broken: BTreeSet<String>,
    is_reversed: bool,
}

impl Memory {
    fn new<'a>(files: impl IntoIterator<Item = (&'a str, String)>) -> Memory {
        let files = files.into_iter().map(|(path, text)| (path.to_owned(), text.into_bytes())).collect();
        Memory { files, ..Memory::default() }
    }

    fn with(mut self, path: &str, text: impl Into<Vec<u8>>) -> Memory {
        self.files.insert(path.into(), text.into());
        self
    }

    fn without(mut self, path: &str) -> Memory {
        self.files.remove(path).unwrap();
        self
    }

    fn parse(&self) -> Parsed {
        Unity::new("client", "game").parse(self, &mut ()).unwrap()
    }
}

impl SourceFiles for Memory {
    fn walk(&self) -> Result<Vec<FileEntry>, Error> {
        let mut found: BTreeMap<String, FileKind> = BTreeMap::new();
        for (path, bytes) in &self.files {
            for (end, _) in path.match_indices('/') {
                found.insert(path[..end].to_owned(), FileKind::Folder);
            }
            found.insert(path.clone(), FileKind::File { bytes: bytes.len() as u64, modified_nanos: 0 });
        }
        found.extend(self.refused.iter().map(|path| (path.clone(), FileKind::Refused("a symlink".into()))));
        let mut entries: Vec<FileEntry> = found.into_iter().map(|(path, kind)| FileEntry { path, kind }).collect();
        if self.is_reversed {
            entries.reverse();
        }
        Ok(entries)
    }

    fn read(&self, path: &str, bytes_max: u64) -> Result<Vec<u8>, Error> {
        let bytes = self.files.get(path).filter(|_| !self.broken.contains(path));
        match bytes.ok_or_else(|| Error::new(Code::Io, "the disk has a bad day"))? {
            bytes if bytes.len() as u64 > bytes_max => Err(Error::new(Code::TooLarge, "too large")),
            bytes => Ok(bytes.clone()),
        }
    }
}

fn meta(guid: &str) -> String {
    format!("fileFormatVersion: 2\nguid: {guid}\nNativeFormatImporter:\n")
}

fn yaml(targets: &[&str]) -> String {
    let lines = targets.iter().map(|guid| format!("- {{fileID: 21, guid: {guid}, type: 2}}\n"));
    format!("%YAML 1.1\n--- !u!1 &1\n{}", lines.collect::<String>())
}

/// A prefab that needs a cape, a package's script and a shader of Unity's; and a scene list without a GUID.
fn project() -> Memory {
    Memory::new([
        ("Assets/Hero.prefab", yaml(&[CAPE, KIT, SHADER, HERO, CAPE])),
        ("Assets/Hero.prefab.meta", meta(HERO)),
        ("Assets/Art.meta", format!("guid: {}\nfolderAsset: yes\nDefaultImporter:\n", "d".repeat(32))),
        ("Assets/Art/Cape.png", "PNG".into()),
        ("Assets/Art/Cape.png.meta", format!("guid: {CAPE}\nTextureImporter:\n")),
        ("ProjectSettings/EditorBuildSettings.asset", format!("%YAML 1.1\n  - path: x\n    guid: {HERO}\n")),
        ("ProjectSettings/ProjectVersion.txt", "m_EditorVersion: 2022.3.1f1\n".into()),
        ("Library/x.asset", yaml(&[CAPE])),
    ])
}

/// One line for each observation: `+` an entity, `>` a relation, with properties and trust where they say something.
fn told(group: &Group) -> Vec<String> {
    group.observations.iter().map(line).collect()
}

fn line(said: &Observation) -> String {
    let short = |key: &EntityKey| match &*key.kind {
        "File" => key.external_id.to_string(),
        _ if &*key.external_id == SHADER => "shader".to_owned(),
        _ => key.external_id[..1].to_owned(),
    };
    let props: Vec<String> = said.props.iter().map(|(name, value)| format!("{name}={}", value.canonical())).collect();
    let what = match &said.sighted {
        Sighted::Entity(key) => format!("+{}", short(key)),
        Sighted::Relation { source, target, .. } => format!("{}>{}", short(source), short(target)),
    };
    let trust = (said.trust == Trust::Derived).then(|| "derived".to_owned());
    [what].into_iter().chain(props).chain(trust).collect::<Vec<_>>().join(" ")
}

fn group<'a>(parsed: &'a Parsed, path: &str) -> &'a Group {
    parsed.groups.iter().find(|group| *group.key.group == *path).unwrap_or_else(|| panic!("no group {path}"))
}

fn names(parsed: &Parsed) -> Vec<&str> {
    parsed.groups.iter().map(|group| &*group.key.group).collect()
}

fn counted(parsed: &Parsed, what: &str) -> u64 {
    parsed.report.counts.get(what).copied().unwrap_or_default()
}

fn findings(list: &[crate::sources::Finding]) -> Vec<(&str, &str)> {
    list.iter().map(|finding| (&*finding.place, &*finding.reason)).collect()
}

/// The whole vocabulary at once: what a reader of the graph will find.
#[test]
fn what_a_project_says() {
    let parsed = project().parse();
    let art = "game/Assets/Art";
    let settings = "game/ProjectSettings/EditorBuildSettings.asset";
    assert_eq!(names(&parsed), [art, "game/Assets/Art/Cape.png", "game/Assets/Hero.prefab", settings]);
    for (path, expected) in [
        (art, &[r#"+d folder=true importer="DefaultImporter" name="Art" path="game/Assets/Art""#][..]),
        (
            "game/Assets/Art/Cape.png",
            &[
                r#"+b importer="TextureImporter" name="Cape.png" path="game/Assets/Art/Cape.png""#,
                r#"+game/Assets/Art/Cape.png name="Cape.png" path="game/Assets/Art/Cape.png""#,
            ],
        ),
        (
            "game/Assets/Hero.prefab",
            &[
                r#"+a importer="NativeFormatImporter" name="Hero.prefab" path="game/Assets/Hero.prefab""#,
                r#"+game/Assets/Hero.prefab name="Hero.prefab" path="game/Assets/Hero.prefab""#,
                r#"+shader builtin=true name="unity_builtin_extra""#,
                r#"a>shader file_ids=[21]"#,
                r#"a>b file_ids=[21]"#,
                r#"+c external=true derived"#,
                r#"a>c file_ids=[21]"#,
            ],
        ),
        (
            settings,
            &[
                "+game/ProjectSettings/EditorBuildSettings.asset name=\"EditorBuildSettings.asset\" \
                 path=\"game/ProjectSettings/EditorBuildSettings.asset\"",
                "game/ProjectSettings/EditorBuildSettings.asset>a",
            ],
        ),
    ] {
        assert_eq!(told(group(&parsed, path)), expected, "{path}");
    }
    assert!(parsed.groups.iter().all(|group| *group.key.source == *"unity:client"));
    assert!(parsed.report.skipped.is_empty() && parsed.report.defects.is_empty() && parsed.stale.is_empty());
    let needs = group(&parsed, "game/Assets/Hero.prefab").observations.last().unwrap();
    assert_eq!(needs.place, Some(Value::from("game/Assets/Hero.prefab:L4")));
}

/// A walk in another order, or on a machine with more cores, must not look like a change of the project.
#[test]
fn order_and_threads_do_not_matter() {
    let mut files = project();
    for n in 0..2_000 {
        let guid = format!("{:032x}", n % 700 + 1);
        files = files
            .with(&format!("Assets/m{n}.mat"), yaml(&[HERO, CAPE, &guid]))
            .with(&format!("Assets/m{n}.mat.meta"), meta(&guid));
    }
    let expected = files.parse();
    assert!(counted(&expected, "defect:duplicate_guid") > 0);
    files.is_reversed = true;
    for threads in [1, 5] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        assert_eq!(pool.install(|| files.parse()), expected, "{threads} threads");
    }
}

/// An asset that is moved keeps its name for everyone who needs it; only where it lies changes.
#[test]
fn a_moved_asset_is_the_same_asset() {
    let before = project().parse();
    let moved = project().without("Assets/Art/Cape.png").without("Assets/Art/Cape.png.meta");
    let after = moved.with("Assets/Cloak.png", "PNG").with("Assets/Cloak.png.meta", meta(&CAPE.to_uppercase())).parse();
    let hero = "game/Assets/Hero.prefab";
    assert_eq!(group(&after, hero), group(&before, hero));
    assert!(told(group(&after, "game/Assets/Cloak.png"))[0].starts_with("+b "));
}

/// After a copy outside Unity, two files have one GUID. Which of them is the asset must not depend on chance, and what
/// either needs must not be lost or said twice with different evidence.
#[test]
fn two_files_with_one_guid() {
    let copied = project().with("Assets/A.prefab", yaml(&[KIT, SHADER])).with("Assets/A.prefab.meta", meta(HERO));
    let parsed = copied.parse();
    let winner = told(group(&parsed, "game/Assets/A.prefab"));
    assert!(winner[0].contains(r#"duplicate_paths=["game/Assets/Hero.prefab"]"#), "{winner:?}");
    assert_eq!(
        told(group(&parsed, "game/Assets/Hero.prefab")),
        [r#"+game/Assets/Hero.prefab name="Hero.prefab" path="game/Assets/Hero.prefab""#, "a>b file_ids=[21]",]
    );
    assert_eq!(findings(&parsed.report.defects), [("game/Assets/A.prefab", "duplicate_guid")]);
    assert_eq!(counted(&parsed, "edges"), 3);
}

/// A move by hand leaves the old meta behind; the asset is where its body is.
#[test]
fn a_meta_that_a_move_left_behind() {
    let parsed = project().with("Assets/A.prefab.meta", meta(HERO)).parse();
    let hero = &told(group(&parsed, "game/Assets/Hero.prefab"))[0];
    assert!(hero.contains(r#"duplicate_paths=["game/Assets/A.prefab"]"#), "{hero}");
    assert!(!names(&parsed).contains(&"game/Assets/A.prefab"));
}

#[test]
fn a_flood_of_one_guid_is_bounded() {
    let mut files = project();
    for n in 0..3_000 {
        files = files.with(&format!("Assets/copy{n:04}.txt.meta"), meta(HERO));
    }
    let parsed = files.parse();
    let asset = &group(&parsed, "game/Assets/Hero.prefab").observations[0];
    assert!(asset.props["duplicate_paths"].canonical().len() < 1_000);
    let duplicate = parsed.report.defects.iter().find(|defect| defect.reason == "duplicate_guid").unwrap();
    assert!(duplicate.detail.contains("3000 more") && duplicate.detail.len() < 1_000, "{}", duplicate.detail);
    assert_eq!((counted(&parsed, "defect:orphan_meta"), parsed.report.defects.len()), (3_000, LISTED_MAX));
}

/// A GUID under a key that nobody knows is a reference if the project has the asset, and then a derived one: a quest's
/// own id must not become a missing asset.
#[test]
fn unknown_keys() {
    let text = format!("%YAML 1.1\n  questGuid: {KIT}\n  m_Guid: {CAPE}\n");
    let parsed = project().with("Assets/Q.asset", text).with("Assets/Q.asset.meta", meta(&"e".repeat(32))).parse();
    assert_eq!(told(group(&parsed, "game/Assets/Q.asset"))[2..], ["e>b derived"]);
    assert_eq!(counted(&parsed, "refs:named:other"), 2);
}

/// Metas and bodies that miss each other: each is told, and costs no other file.
#[test]
fn pairs_that_are_none() {
    let parsed = project()
        .without("Assets/Art/Cape.png")
        .without("Assets/Hero.prefab.meta")
        .with("Assets/Art/x.txt.meta", "fileFormatVersion: 2\n")
        .with("Assets/y.txt", "")
        .with("Assets/y.txt.meta", format!("guid: {SHADER}\nX:\n  icon: {{fileID: 1, guid: {CAPE}, type: 3}}\n"))
        .with("Assets/Gone.meta", format!("guid: {KIT}\nfolderAsset: yes\n"))
        .with("Assets/Docs~/z.prefab", yaml(&[CAPE]))
        .with("Assets/Docs~.meta", meta(KIT))
        .parse();
    assert_eq!(
        findings(&parsed.report.defects),
        [
            ("game/Assets/Art/x.txt.meta", "meta_without_guid"),
            ("game/Assets/y.txt.meta", "meta_without_guid"),
            ("game/Assets/Art/Cape.png", "orphan_meta"),
            ("game/Assets/Art/x.txt", "orphan_meta"),
            ("game/Assets/Gone", "orphan_meta"),
            ("game/Assets/Hero.prefab", "path_without_meta"),
        ]
    );
    let cape = told(group(&parsed, "game/Assets/Art/Cape.png"));
    assert!(cape.len() == 1 && cape[0].starts_with("+b body=false importer"), "{cape:?}");
    let gone = told(group(&parsed, "game/Assets/Gone"));
    assert_eq!(gone, [r#"+c body=false folder=true name="Gone" path="game/Assets/Gone""#]);
    // A prefab without a meta has no GUID of its own, and still needs what it needs.
    let hero = told(group(&parsed, "game/Assets/Hero.prefab"));
    assert!(hero.contains(&"game/Assets/Hero.prefab>b file_ids=[21]".to_owned()), "{hero:?}");
    assert_eq!(told(group(&parsed, "game/Assets/y.txt")).last().unwrap(), "game/Assets/y.txt>b file_ids=[1]");
    // A meta without a GUID was not understood: what its pair said before may still hold.
    assert!(told(group(&parsed, "game/Assets/Art/x.txt")).is_empty());
    assert_eq!(parsed.stale, ["game/Assets/Art/x.txt", "game/Assets/y.txt"].map(Name::from));
}

/// What can't be read today was there yesterday: it is stale, not gone. Where only the body is unreadable, the GUID is
/// known, and nobody who needs the asset calls it external; where the meta is, they can't know better.
#[test]
fn unreadable_files_are_stale() {
    let mut files = project().with("Assets/Cape.mat", yaml(&[HERO])).with("Assets/Cape.mat.meta", meta(KIT));
    files.broken.insert("Assets/Cape.mat".into());
    files.broken.insert("Assets/Art/Cape.png.meta".into());
    let parsed = files.parse();
    let stale: Vec<&str> = parsed.stale.iter().map(|name| &**name).collect();
    assert_eq!(stale, ["game/Assets/Art/Cape.png", "game/Assets/Cape.mat"]);
    assert_eq!(
        findings(&parsed.report.skipped),
        [("game/Assets/Art/Cape.png.meta", "unreadable"), ("game/Assets/Cape.mat", "unreadable"),]
    );
    let hero = told(group(&parsed, "game/Assets/Hero.prefab"));
    assert!(!hero.contains(&"+c external=true derived".to_owned()), "{hero:?}");
    assert!(hero.contains(&"+b external=true derived".to_owned()), "{hero:?}");
}

#[test]
fn limits() {
    let mut files = project();
    let source = Unity::new("client", "game");
    let limits = Limits { file_bytes_max: 150, ..Limits::default() };
    let parsed = source.clone().with_limits(limits).parse(&files, &mut ()).unwrap();
    assert_eq!(findings(&parsed.report.skipped), [("game/Assets/Hero.prefab", "too_large")]);
    assert_eq!(parsed.stale, [Name::from("game/Assets/Hero.prefab")]);

    let limits = Limits { entries_max: 3, ..Limits::default() };
    let parsed = source.clone().with_limits(limits).parse(&files, &mut ()).unwrap();
    assert!(parsed.all_stale && parsed.groups.is_empty());
    assert_eq!(counted(&parsed, "skipped:too_many_entries"), 1);

    let limits = Limits { targets_max: 1, ..Limits::default() };
    files = files.with("Assets/y.txt.meta", meta(KIT));
    let parsed = source.with_limits(limits).parse(&files, &mut ()).unwrap();
    assert_eq!(counted(&parsed, "defect:too_many_targets"), 1);
    assert_eq!(counted(&parsed, "edges"), 1);
}

/// A link is not followed: the texture behind it is still an asset, what a scene behind it needs is not known.
#[test]
fn refused_files() {
    let mut files = project().with("Assets/S.unity.meta", meta(KIT)).without("Assets/Art/Cape.png");
    files.refused.extend(["Assets/S.unity".into(), "Assets/Art/Cape.png".into(), "Assets/Linked".into()]);
    let parsed = files.parse();
    assert_eq!(
        told(group(&parsed, "game/Assets/Art/Cape.png")),
        [r#"+b importer="TextureImporter" name="Cape.png" path="game/Assets/Art/Cape.png""#,]
    );
    // What is refused may be a folder: everything beneath its name went unread too.
    let stale = ["game/Assets/Art/Cape.png/", "game/Assets/Linked/", "game/Assets/S.unity/", "game/Assets/S.unity"];
    assert_eq!(parsed.stale, stale.map(Name::from));
    assert_eq!(counted(&parsed, "skipped:refused"), 3);
    assert!(parsed.report.defects.is_empty());
}

/// A whole folder that can't be looked into today must not look like one that was emptied.
#[test]
fn a_refused_folder_of_the_project() {
    let mut files = project();
    files.files.retain(|path, _| !path.starts_with("Assets/"));
    files.refused.insert("Assets".into());
    let parsed = files.parse();
    assert!(parsed.all_stale && parsed.groups.is_empty());
    assert_eq!(findings(&parsed.report.skipped), [("game/Assets", "refused")]);
}

/// Serialised files that are no text are told apart, so that nobody believes that they need nothing.
#[test]
fn bodies_that_are_not_yaml() {
    for (bytes, reason) in [
        (&b"\0\0\0\x16\0\0"[..], "binary"),
        (b"{\"m_SettingKeys\": []}", "json"),
        (b"", "empty"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:00\n", "lfs_pointer"),
        (b"hello", "not_yaml"),
    ] {
        let parsed = project().with("Assets/Hero.prefab", bytes).parse();
        assert_eq!(findings(&parsed.report.skipped), [("game/Assets/Hero.prefab", reason)]);
        assert_eq!(told(group(&parsed, "game/Assets/Hero.prefab")).len(), 2, "the asset and its file are there");
        assert_eq!(parsed.stale, [Name::from("game/Assets/Hero.prefab")], "what it needed before may still hold");
    }
}

/// The digest follows what was read: a texture is not, and a byte moved from a body to its meta is a change.
#[test]
fn revisions() {
    let revision = |files: &Memory, path: &str| group(&files.parse(), path).revision.clone().unwrap();
    let (hero, cape) = ("game/Assets/Hero.prefab", "game/Assets/Art/Cape.png");
    let files = project();
    let before = (revision(&files, hero), revision(&files, cape));
    assert!(before.0.starts_with("sha256:") && before.0.len() == 7 + 16, "{}", before.0);
    let files = files.with("Assets/Hero.prefab", yaml(&[CAPE])).with("Assets/Art/Cape.png", "another");
    assert_ne!(revision(&files, hero), before.0);
    assert_eq!(revision(&files, cape), before.1);
}

/// A run that its watcher stops, and a folder that is no project, leave the graph as it was.
#[test]
fn runs_that_come_to_nothing() {
    struct Stop(u64, Vec<(u64, Option<u64>)>);
    impl Progress for Stop {
        fn step(&mut self, done: u64, total: Option<u64>) -> ControlFlow<()> {
            self.1.push((done, total));
            if done >= self.0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        }
    }
    let source = Unity::new("client", "/game/");
    for at in [0, 4] {
        let stopped = source.parse(&project(), &mut Stop(at, Vec::new())).unwrap_err();
        assert_eq!(stopped.code(), Code::Interrupted);
    }
    let mut watch = Stop(5, Vec::new());
    assert_eq!(source.parse(&project(), &mut watch).unwrap(), project().parse());
    assert_eq!(watch.1, [(0, Some(4)), (4, Some(4))]);
    let elsewhere = Memory::new([("src/Assets/x.mat", yaml(&[]))]);
    assert_eq!(source.parse(&elsewhere, &mut ()).unwrap_err().code(), Code::NotFound);
}
