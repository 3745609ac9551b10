//! Where a row stands: from Graphify's `source_file` to a path of the project and a file group.
//!
//! Old versions wrote absolute paths, Windows ones wrote backslashes, and merged graphs hold several repositories with
//! equal paths. Each distinct `source_file` is worked out once.
//!
//! 1. A path never begins with a slash, has no empty, `.` or `..` component, and lies under the prefix.
//! 2. A `source_file` from which no such path can be made is shown as it is, and belongs to the group [`NO_FILE`].

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};

use super::NO_FILE;
use super::row::brief;
use crate::key::Name;
use crate::sources::{Report, below};
use crate::value::Value;

/// The file that a row stands in.
#[derive(Clone)]
pub(super) struct Spot {
    /// The file group.
    pub(super) group: Name,
    /// The path in the project, if the row names a file that can lie in it.
    pub(super) path: Option<Name>,
    /// The file as a place shows it.
    pub(super) shown: Option<Value>,
}

/// Every `source_file` met so far.
pub(super) struct Paths {
    prefix: String,
    nowhere: Spot,
    /// By `source_file`, in a merged graph behind its repository.
    known: HashMap<Box<str>, Spot>,
    /// What had to be made of a `source_file`, and why; sorted, so that a report does not depend on the order of rows.
    odd: BTreeMap<(&'static str, Box<str>), Box<str>>,
}

impl Paths {
    /// No path yet; all will lie under `prefix`.
    pub(super) fn new(prefix: &str) -> Paths {
        let nowhere = Spot { group: NO_FILE.into(), path: None, shown: None };
        Paths { prefix: prefix.to_owned(), nowhere, known: HashMap::new(), odd: BTreeMap::new() }
    }

    /// The spot of a row that names `source_file`, in the repository `repo` of a merged graph.
    pub(super) fn spot(&mut self, repo: Option<&str>, source_file: Option<&str>) -> Spot {
        let Some(source_file) = source_file else {
            return self.nowhere.clone();
        };
        let repo = repo.unwrap_or_default();
        let name: Cow<'_, str> =
            if repo.is_empty() { source_file.into() } else { format!("{repo}\0{source_file}").into() };
        if let Some(spot) = self.known.get(&*name) {
            return spot.clone();
        }
        let spot = self.work_out(repo, source_file);
        self.known.insert(name.into(), spot.clone());
        spot
    }

    fn work_out(&mut self, repo: &str, source_file: &str) -> Spot {
        let (inside, oddity) = match (plain(source_file), repo) {
            (whole, "") => whole,
            ((Some(path), oddity), repo) => match plain(repo).0 {
                Some(repo) => (Some(below(&repo, &path)), oddity),
                None => (None, Some("path_escapes")),
            },
            (none, _) => none,
        };
        let path = inside.map(|path| Name::from(below(&self.prefix, &path)));
        if let Some(oddity) = oddity {
            let taken = match &path {
                Some(path) => format!("taken as {:?}", brief(path)),
                None => "no file of the project; kept as a place only".into(),
            };
            self.odd.insert((oddity, source_file.into()), taken.into());
        }
        Spot {
            group: path.clone().unwrap_or_else(|| NO_FILE.into()),
            shown: Some(path.as_ref().map_or_else(|| Value::from(source_file), Value::from)),
            path,
        }
    }

    /// Reports what was odd.
    pub(super) fn report(self, file: &str, report: &mut Report) {
        for ((reason, source_file), taken) in self.odd {
            report.defect(file, reason, format!("source_file {:?} is {taken}", brief(&source_file)));
        }
    }
}

/// `path` as one that begins nowhere in particular, and what was odd about it.
fn plain(path: &str) -> (Option<String>, Option<&'static str>) {
    let slashed = path.replace('\\', "/");
    let (drive, rest) = match slashed.as_bytes() {
        [letter, b':', ..] if letter.is_ascii_alphabetic() => (true, &slashed[2..]),
        _ => (false, &*slashed),
    };
    let mut components = Vec::new();
    for component in rest.split('/').filter(|component| !matches!(*component, "" | ".")) {
        if component == ".." {
            return (None, Some("path_escapes"));
        }
        components.push(component);
    }
    if components.is_empty() {
        return (None, Some("no_path"));
    }
    let oddity = if drive || rest.starts_with('/') {
        Some("absolute_path")
    } else if path.contains('\\') {
        Some("backslash_path")
    } else {
        None
    };
    (Some(components.join("/")), oddity)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A path that keeps its root, or climbs out of the project, would make a File that no other source speaks of.
    #[test]
    fn paths_are_of_the_project() {
        for (repo, source_file, expected, oddity) in [
            ("", "src/a.rs", Some("game/src/a.rs"), None),
            ("", "./src//a.rs", Some("game/src/a.rs"), None),
            ("", "/home/x/src/a.rs", Some("game/home/x/src/a.rs"), Some("absolute_path")),
            ("", r"C:\x\a.cs", Some("game/x/a.cs"), Some("absolute_path")),
            ("", r"\\server\share\a.cs", Some("game/server/share/a.cs"), Some("absolute_path")),
            ("", r"x\a.cs", Some("game/x/a.cs"), Some("backslash_path")),
            ("", "../a.rs", None, Some("path_escapes")),
            ("", r"x\..\..\a.rs", None, Some("path_escapes")),
            ("", "a..b/..c", Some("game/a..b/..c"), None),
            ("", ".", None, Some("no_path")),
            ("", "///", None, Some("no_path")),
            ("one", "src/a.rs", Some("game/one/src/a.rs"), None),
            ("org/one", "src/a.rs", Some("game/org/one/src/a.rs"), None),
            ("..", "src/a.rs", None, Some("path_escapes")),
        ] {
            let mut paths = Paths::new("/game/");
            let spot = paths.spot(Some(repo), Some(source_file));
            assert_eq!(spot.path.as_deref(), expected, "{repo} {source_file}");
            assert_eq!(&*spot.group, expected.unwrap_or(NO_FILE), "{repo} {source_file}");
            assert_eq!(paths.odd.keys().next().map(|(reason, _)| *reason), oddity, "{repo} {source_file}");
        }
    }

    #[test]
    fn the_group_without_a_file_is_no_path() {
        let mut paths = Paths::new("");
        assert_ne!(&*paths.spot(None, Some("no-file")).group, NO_FILE);
        assert_ne!(&*paths.spot(None, Some("/no-file")).group, NO_FILE);
        assert_eq!(&*paths.spot(None, None).group, NO_FILE);
    }
}
