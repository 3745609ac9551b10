//! Which paths of a project matter, and what is expected at each.
//!
//! A meta and the file or folder beside it are one *pair*, named by the path of the body. Pairs are the file groups of
//! the source.
//!
//! 1. Only what lies beneath `Assets`, `Packages` and `ProjectSettings` is looked at: `Library`, `Temp`, `Logs`, `obj`
//!    and all else at the root is made by Unity or is no part of the project.
//! 2. What Unity does not import (hidden names, names that end in `~`, `.tmp`, `cvs`) is not looked at either, nor is a
//!    meta beside it.
//! 3. A file is opened only if its extension says that references can stand in it: textures are never read.

use std::collections::BTreeMap;

use super::meta::BOM;
use super::scan::Form;
use crate::sources::{FileEntry, FileKind};

/// A meta and its body, or one of the two.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Pair {
    /// The path of the body, below the root.
    pub(super) path: String,
    /// What lies at the path of the meta.
    pub(super) meta: Option<Lies>,
    /// What lies at the path of the body.
    pub(super) body: Option<Lies>,
}

/// What lies at a path.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Lies {
    /// A regular file.
    File,
    /// A folder.
    Folder,
    /// Something that must not or can't be read, and why.
    Refused(String),
}

/// All pairs of a project.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Layout {
    /// The pairs by path, those that have something to read or to report.
    pub(super) pairs: Vec<Pair>,
    /// How many regular files there are.
    pub(super) files: u64,
    /// One of the project's own folders is there.
    pub(super) is_project: bool,
    /// One of the project's own folders that can't be looked into, and why.
    pub(super) refused_root: Option<(String, String)>,
}

impl Layout {
    /// Sorts out a walk, in whatever order it comes.
    pub(super) fn new(entries: Vec<FileEntry>) -> Layout {
        let mut layout = Layout::default();
        let mut pairs: BTreeMap<String, Pair> = BTreeMap::new();
        for FileEntry { mut path, kind } in entries {
            layout.is_project |= ROOTS.contains(&path.split('/').next().unwrap_or_default());
            if let FileKind::Refused(why) = &kind
                && ROOTS.contains(&&*path)
            {
                layout.refused_root = Some((path.clone(), why.clone()));
            }
            let is_meta = kind != FileKind::Folder && path.ends_with(META);
            if is_meta {
                path.truncate(path.len() - META.len());
            }
            if !is_looked_at(&path) {
                continue;
            }
            let lies = match kind {
                FileKind::File { .. } => Lies::File,
                FileKind::Folder => Lies::Folder,
                FileKind::Refused(why) => Lies::Refused(why),
            };
            layout.files += u64::from(lies == Lies::File);
            let pair = pairs.entry(path).or_default();
            *(if is_meta { &mut pair.meta } else { &mut pair.body }) = Some(lies);
        }
        let named = pairs.into_iter().map(|(path, pair)| Pair { path, ..pair });
        layout.pairs = named.filter(Pair::matters).collect();
        layout
    }
}

/// The ending of a meta.
pub(super) const META: &str = ".meta";

/// The folders of a project that people write.
const ROOTS: [&str; 3] = ["Assets", "Packages", "ProjectSettings"];

/// Folders that are one asset as a whole: what lies in them has no metas.
const WHOLE_FOLDERS: [&str; 6] = [".androidlib", ".androidpack", ".bundle", ".framework", ".plugin", ".xcframework"];

impl Pair {
    /// The form of the references in the body, if it is a file that can hold any.
    pub(super) fn form(&self) -> Option<Form> {
        match self.body {
            None | Some(Lies::Folder) => None,
            Some(Lies::File | Lies::Refused(_)) => form(&self.path),
        }
    }

    /// A body that should have a meta and has none: Unity will give it a GUID that nobody shares.
    pub(super) fn lacks_meta(&self) -> bool {
        let is_body = matches!(self.body, Some(Lies::File | Lies::Folder));
        is_body && self.meta.is_none() && expects_meta(&self.path)
    }

    fn matters(&self) -> bool {
        let is_refused = matches!(self.body, Some(Lies::Refused(_)));
        self.meta.is_some() || self.form().is_some() || is_refused || self.lacks_meta()
    }
}

/// Invariants 1 and 2.
fn is_looked_at(path: &str) -> bool {
    let mut names = path.split('/');
    let in_root = names.next().is_some_and(|root| ROOTS.contains(&root));
    in_root && path.contains('/') && !names.any(is_hidden)
}

fn is_hidden(name: &str) -> bool {
    let ends_in_tmp = name.len() >= 4 && name.as_bytes()[name.len() - 4..].eq_ignore_ascii_case(b".tmp");
    name.starts_with('.') || name.ends_with('~') || ends_in_tmp || name.eq_ignore_ascii_case("cvs")
}

fn expects_meta(path: &str) -> bool {
    let mut folders = path.split('/');
    let root = folders.next();
    // What lies directly in `Packages` is a package or the list of them; neither is an asset.
    let in_assets = root == Some("Assets") || (root == Some("Packages") && path.split('/').count() > 2);
    folders.next_back();
    in_assets && !folders.any(|folder| WHOLE_FOLDERS.iter().any(|ending| folder.ends_with(ending)))
}

/// Extensions of files that Unity serialises as YAML, in lower case.
const YAML: [&str; 38] = [
    "anim",
    "asset",
    "blendtree",
    "brush",
    "colors",
    "controller",
    "cubemap",
    "curves",
    "curvesnormalized",
    "flare",
    "fontsettings",
    "giparams",
    "gradients",
    "guiskin",
    "ht",
    "lighting",
    "mask",
    "mat",
    "mixer",
    "overridecontroller",
    "particlecurves",
    "particlecurvessigned",
    "physicmaterial",
    "physicsmaterial",
    "physicsmaterial2d",
    "playable",
    "prefab",
    "preset",
    "rendertexture",
    "scenetemplate",
    "shadervariants",
    "signal",
    "spriteatlas",
    "spriteatlasv2",
    "terrainlayer",
    "unity",
    "vfx",
    "wlt",
];

fn form(path: &str) -> Option<Form> {
    let name = path.rsplit('/').next().unwrap_or(path);
    let extension = name.rsplit_once('.')?.1.to_ascii_lowercase();
    match &*extension {
        "asmdef" | "asmref" => Some(Form::Assembly),
        "uxml" | "uss" | "tss" => Some(Form::Markup),
        "shadergraph" | "shadersubgraph" => Some(Form::ShaderGraph),
        "vfxblock" | "vfxoperator" => Some(Form::Yaml),
        other => YAML.binary_search(&other).is_ok().then_some(Form::Yaml),
    }
}

/// Why a file with the extension of a serialised one is none, by how it begins; None where it is one.
pub(super) fn unserialised(bytes: &[u8]) -> Option<&'static str> {
    let begins = bytes.strip_prefix(BOM).unwrap_or(bytes);
    let text = begins.trim_ascii_start();
    if begins.starts_with(b"%YAML") || begins.starts_with(b"--- !u!") {
        None
    } else if text.is_empty() {
        Some("empty")
    } else if begins.starts_with(b"version https://git-lfs") {
        Some("lfs_pointer")
    } else if bytes[..bytes.len().min(HEAD_BYTES)].contains(&0) {
        Some("binary")
    } else if text.starts_with(b"{") || text.starts_with(b"[") {
        Some("json")
    } else {
        Some("not_yaml")
    }
}

/// A binary file shows a zero byte this early.
const HEAD_BYTES: usize = 1_024;

#[cfg(test)]
mod tests {
    use super::*;

    /// A scan of what Unity itself ignores would bring in assets that no build contains.
    #[test]
    fn what_is_looked_at() {
        for (path, expected) in [
            ("Assets/Hero.prefab", true),
            ("Assets/Art/hero.png", true),
            ("Packages/com.acme.kit/Runtime/Kit.asmdef", true),
            ("ProjectSettings/EditorBuildSettings.asset", true),
            ("Assets", false),
            ("Library/PackageCache/com.acme.kit/Kit.prefab", false),
            ("Temp/x.asset", false),
            ("Logs/x.asset", false),
            ("obj/x.asset", false),
            ("UserSettings/x.asset", false),
            ("assets/Hero.prefab", false),
            ("Assets/Docs~/Sketch.mat", false),
            ("Assets/Sketch.mat~", false),
            ("Assets/.hidden/Sketch.mat", false),
            ("Assets/.gitkeep", false),
            ("Assets/CVS/x.mat", false),
            ("Assets/x.TMP", false),
            ("Assets/tmp", true),
            ("Assets/a~b/x.mat", true),
            ("Assets/été.tmq", true),
        ] {
            assert_eq!(is_looked_at(path), expected, "{path}");
        }
    }

    #[test]
    fn forms_follow_extensions() {
        assert!(YAML.is_sorted());
        for (path, expected) in [
            ("Assets/A.prefab", Some(Form::Yaml)),
            ("Assets/A.physicMaterial", Some(Form::Yaml)),
            ("Assets/A.vfxblock", Some(Form::Yaml)),
            ("Assets/A.UNITY", Some(Form::Yaml)),
            ("Assets/A.asmdef", Some(Form::Assembly)),
            ("Assets/A.uss", Some(Form::Markup)),
            ("Assets/A.ShaderGraph", Some(Form::ShaderGraph)),
            ("Assets/A.cs", None),
            ("Assets/a.asset/prefab", None),
            ("Assets/A", None),
        ] {
            assert_eq!(form(path), expected, "{path}");
        }
    }

    /// Thousands of false reports about the inside of a plugin would bury the one that matters.
    #[test]
    fn where_a_meta_is_expected() {
        for (path, expected) in [
            ("Assets/A.png", true),
            ("Assets/Plugins/Ads.framework", true),
            ("Assets/Plugins/Ads.framework/Info.plist", false),
            ("Packages/manifest.json", false),
            ("Packages/com.acme.kit", false),
            ("Packages/com.acme.kit/package.json", true),
            ("ProjectSettings/TagManager.asset", false),
        ] {
            assert_eq!(expects_meta(path), expected, "{path}");
        }
    }

    #[test]
    fn beginnings() {
        for (bytes, expected) in [
            (&b"%YAML 1.1\n"[..], None),
            (b"\xef\xbb\xbf%YAML 1.1\r\n", None),
            (b"--- !u!114 &1\n", None),
            (b"", Some("empty")),
            (b"\r\n", Some("empty")),
            (b"\0\0\0\x16", Some("binary")),
            (b"UnityFS\0", Some("binary")),
            (b"{\n}", Some("json")),
            (b"version https://git-lfs.github.com/spec/v1\n", Some("lfs_pointer")),
            (b"solid cube", Some("not_yaml")),
        ] {
            assert_eq!(unserialised(bytes), expected, "{:?}", String::from_utf8_lossy(bytes));
        }
    }

    /// A meta of what is ignored is ignored, and a folder may be called like a meta.
    #[test]
    fn pairs() {
        let file = FileKind::File { bytes: 1, modified_nanos: 0 };
        let refused = FileKind::Refused("a symlink".into());
        let entries = [
            ("Assets/Docs~.meta", file.clone()),
            ("Assets/b.png.meta", file.clone()),
            ("Assets/b.png", file.clone()),
            ("Assets/a.meta", FileKind::Folder),
            ("Assets/c.txt.meta", refused.clone()),
            ("Assets/d.txt.meta.meta", file.clone()),
            ("Assets/d.txt.meta", file.clone()),
            ("ProjectSettings/Version.txt", file.clone()),
            ("ProjectSettings/Tags.asset", file),
        ];
        let entries: Vec<FileEntry> =
            entries.map(|(path, kind)| FileEntry { path: path.into(), kind }).into_iter().collect();
        let layout = Layout::new(entries.clone());
        let pair = |path: &str, meta, body| Pair { path: path.into(), meta, body };
        let expected = [
            pair("Assets/a.meta", None, Some(Lies::Folder)),
            pair("Assets/b.png", Some(Lies::File), Some(Lies::File)),
            pair("Assets/c.txt", Some(Lies::Refused("a symlink".into())), None),
            pair("Assets/d.txt", Some(Lies::File), None),
            pair("Assets/d.txt.meta", Some(Lies::File), None),
            pair("ProjectSettings/Tags.asset", None, Some(Lies::File)),
        ];
        assert_eq!(layout.pairs, expected);
        assert!(layout.is_project && layout.refused_root.is_none());
        assert_eq!(Layout::new(entries.into_iter().rev().collect()), layout);
    }
}
