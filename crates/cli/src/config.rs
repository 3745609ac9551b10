//! What it means: which scope, which sources.
//!
//! `triglyph.toml` in a store's folder:
//!
//! ```toml
//! scope = "acme/lanternfall"      # the scope of commands that name none, and of the sources
//!
//! [[source]]
//! kind = "unity"                  # graphify, unity, ownership
//! name = "client"                 # main when left out
//! path = "../game"                # from the folder of this file
//! at = "game"                     # where its paths begin in the project
//! ```
//!
//! 1. Flags win: a source flag means that exactly the sources of the flags are read, `--scope` that no other scope is
//!    meant. The sources of the file belong to its scope and are never read into another one.
//! 2. What the file can't mean is an error with its line, and the nearest word.

use std::fmt;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use toml::Spanned;
use toml::de::{DeTable, DeValue};
use triglyph::Scope;

use crate::outcome::Failure;

/// The name of the file.
pub(crate) const FILE: &str = "triglyph.toml";

/// A kind of source.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Kind {
    Graphify,
    Unity,
    Ownership,
}

impl Kind {
    const ALL: [Kind; 3] = [Kind::Graphify, Kind::Unity, Kind::Ownership];

    /// Its word: that of the flag, of the file, and before the colon of an instance.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Kind::Graphify => "graphify",
            Kind::Unity => "unity",
            Kind::Ownership => "ownership",
        }
    }
}

/// A source, as asked for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct SourceSpec {
    /// What it is.
    pub(crate) kind: Kind,
    /// Which one of its kind.
    pub(crate) name: String,
    /// Where it is read.
    pub(crate) path: PathBuf,
    /// Where its paths begin in the project, if that was said.
    pub(crate) at: Option<String>,
}

impl SourceSpec {
    /// The full name of the instance.
    pub(crate) fn instance(&self) -> String {
        format!("{}:{}", self.kind.as_str(), self.name)
    }
}

impl fmt::Display for SourceSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}={}", self.kind.as_str(), self.name, self.path.display())?;
        self.at.iter().try_for_each(|at| write!(f, " at {at}"))
    }
}

/// A `triglyph.toml`; empty where there is none.
#[derive(Debug, Default)]
pub(crate) struct StoreFile {
    /// The scope of commands that name none.
    pub(crate) scope: Option<Scope>,
    /// The sources, with paths that can be opened from where the program runs.
    pub(crate) sources: Vec<SourceSpec>,
}

impl StoreFile {
    /// Reads the file of a store.
    pub(crate) fn read(store: &Path) -> Result<StoreFile, Failure> {
        let path = store.join(FILE);
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            // What the store itself lacks is said when it is opened.
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
                return Ok(StoreFile::default());
            }
            Err(error) => return Err(Failure::Usage(format!("{}: {error}", path.display()))),
        };
        let reading = Reading { text: &text, path: &path, folder: store };
        reading.file()
    }
}

/// The text of a new file, with the sources that were given.
pub(crate) fn template(scope: Option<&Scope>, sources: &[SourceSpec]) -> String {
    let mut out =
        String::from("# What `triglyph rebuild` reads when it is given no sources. Paths begin at this folder.\n\n");
    match scope {
        Some(scope) => out += &format!("scope = {}\n", quoted(&scope.to_string())),
        None => out += "# scope = \"acme/lanternfall\"\n",
    }
    for SourceSpec { kind, name, path, at } in sources {
        let path = std::path::absolute(path).unwrap_or_else(|_| path.clone());
        let (kind, name, path) = (quoted(kind.as_str()), quoted(name), quoted(&path.to_string_lossy()));
        out += &format!("\n[[source]]\nkind = {kind}\nname = {name}\npath = {path}\n");
        out += &at.as_ref().map(|at| format!("at = {}\n", quoted(at))).unwrap_or_default();
    }
    if sources.is_empty() {
        out += "
# [[source]]
# kind = \"graphify\"                # graphify, unity, ownership
# name = \"main\"                    # tells sources of one kind apart
# path = \"../graphify-out/graph.json\"
# at = \"game/Assets/Scripts\"       # where the source's paths begin in the project
";
    }
    out
}

/// A name that tells sources of one kind apart.
pub(crate) fn check_name(name: &str) -> Result<(), String> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte);
    if !name.is_empty() && name.len() <= 64 && name.bytes().all(plain) {
        return Ok(());
    }
    Err(format!(
        "expected a name of letters, digits, '_', '-' and '.', found {name:?}; write a path with a '=' as ./PATH"
    ))
}

/// Refuses two sources of one name.
pub(crate) fn check_names(sources: &[SourceSpec]) -> Result<(), Failure> {
    for (i, source) in sources.iter().enumerate() {
        if sources[..i].iter().any(|other| (other.kind, &other.name) == (source.kind, &source.name)) {
            let (kind, name) = (source.kind.as_str(), &source.name);
            let message =
                format!("two {kind} sources are called {name}; give each its own name, as in --{kind} NAME=PATH");
            return Err(Failure::Usage(message));
        }
    }
    Ok(())
}

/// A string of TOML: that of JSON has the same quotes and escapes.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// `; did you mean "word"?`, where a known word is near.
fn did_you_mean(found: &str, known: &[&str]) -> String {
    let near = known.iter().map(|word| (strsim::damerau_levenshtein(found, word), *word)).min();
    match near {
        Some((distance, word)) if distance <= 1 + word.len() / 3 => format!("; did you mean {word:?}?"),
        _ => format!("; expected one of {}", known.join(", ")),
    }
}

struct Reading<'a> {
    text: &'a str,
    path: &'a Path,
    folder: &'a Path,
}

impl Reading<'_> {
    fn file(&self) -> Result<StoreFile, Failure> {
        let table = DeTable::parse(self.text)
            .map_err(|error| self.fail(error.span().map_or(0, |span| span.start), error.message().trim_end()))?;
        let mut file = StoreFile::default();
        for (key, value) in table.get_ref() {
            match key.get_ref().as_ref() {
                "scope" => {
                    let text = self.string("scope", value)?;
                    let scope = text.parse().map_err(|error| self.fail(value.span().start, error))?;
                    file.scope = Some(scope);
                }
                "source" => {
                    let DeValue::Array(sources) = value.get_ref() else {
                        return Err(self.fail(value.span().start, "expected [[source]], in double brackets"));
                    };
                    for source in sources.iter() {
                        file.sources.push(self.source(source)?);
                    }
                }
                other => return Err(self.unknown("key", other, key.span().start, &["scope", "source"])),
            }
        }
        check_names(&file.sources).map_err(|failure| self.fail(0, failure))?;
        Ok(file)
    }

    fn source(&self, source: &Spanned<DeValue<'_>>) -> Result<SourceSpec, Failure> {
        let DeValue::Table(table) = source.get_ref() else {
            return Err(self.fail(source.span().start, "expected a table, as [[source]] begins one"));
        };
        let (mut kind, mut name, mut path, mut at) = (None, "main".to_owned(), None, None);
        for (key, value) in table {
            let place = value.span().start;
            match key.get_ref().as_ref() {
                "kind" => {
                    let word = self.string("kind", value)?;
                    kind = Kind::ALL.into_iter().find(|kind| kind.as_str() == word);
                    if kind.is_none() {
                        return Err(self.unknown("kind", word, place, &Kind::ALL.map(Kind::as_str)));
                    }
                }
                "name" => {
                    name = self.string("name", value)?.to_owned();
                    check_name(&name).map_err(|message| self.fail(place, message))?;
                }
                "path" => path = Some(self.folder.join(self.string("path", value)?)),
                "at" => at = Some(self.string("at", value)?.to_owned()),
                other => return Err(self.unknown("key", other, key.span().start, &["kind", "name", "path", "at"])),
            }
        }
        let missing = |what| self.fail(source.span().start, format!("this source has no {what}"));
        Ok(SourceSpec {
            kind: kind.ok_or_else(|| missing("kind"))?,
            name,
            path: path.ok_or_else(|| missing("path"))?,
            at,
        })
    }

    fn string<'v>(&self, key: &str, value: &'v Spanned<DeValue<'_>>) -> Result<&'v str, Failure> {
        match value.get_ref() {
            DeValue::String(text) => Ok(text),
            other => {
                let found = other.type_str();
                Err(self.fail(value.span().start, format!("{key}: expected a string, found {found}")))
            }
        }
    }

    fn unknown(&self, what: &str, found: &str, place: usize, known: &[&str]) -> Failure {
        self.fail(place, format!("unknown {what} {found:?}{}", did_you_mean(found, known)))
    }

    fn fail(&self, place: usize, message: impl fmt::Display) -> Failure {
        let line = 1 + self.text.bytes().take(place).filter(|byte| *byte == b'\n').count();
        Failure::Usage(format!("{}:{line}: {message}", self.path.display()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<StoreFile, String> {
        let reading = Reading { text, path: Path::new("s.tg/triglyph.toml"), folder: Path::new("s.tg") };
        reading.file().map_err(|failure| failure.to_string())
    }

    #[test]
    fn sources_are_read_in_order() {
        let text = "scope = \"acme/demo\"\n[[source]]\nkind = \"unity\"\nname = \"client\"\npath = \"../game\"\nat = \"game\"\n\
                    [[source]]\nkind = \"graphify\"\npath = \"/abs/graph.json\"\n";
        let file = read(text).unwrap();
        assert_eq!(file.scope.unwrap().to_string(), "acme/demo");
        let sources: Vec<String> = file.sources.iter().map(ToString::to_string).collect();
        assert_eq!(sources, ["unity client=s.tg/../game at game", "graphify main=/abs/graph.json"]);
    }

    /// A key that is silently ignored is a source that is silently not read.
    #[test]
    fn what_it_can_not_mean_is_told_with_its_line() {
        for (text, expected) in [
            ("\nscop = \"a/b\"", ":2: unknown key \"scop\"; did you mean \"scope\"?"),
            ("[[source]]\nkind = \"unty\"\npath = \"x\"", ":2: unknown kind \"unty\"; did you mean \"unity\"?"),
            ("[[source]]\nkind = \"unity\"\npth = \"x\"", ":3: unknown key \"pth\"; did you mean \"path\"?"),
            ("[[source]]\nzebra = 1", ":2: unknown key \"zebra\"; expected one of kind, name, path, at"),
            ("[[source]]\nkind = \"unity\"", ":1: this source has no path"),
            ("scope = 5", ":1: scope: expected a string, found integer"),
            ("scope = \"acme\"", ":1: expected a scope such as acme/demo"),
            ("source = 1", ":1: expected [[source]]"),
            ("scope = ", ":1: "),
            (
                "[[source]]\nkind=\"unity\"\npath=\"a\"\n[[source]]\nkind=\"unity\"\npath=\"b\"",
                "two unity sources are called main",
            ),
        ] {
            let message = read(text).expect_err(text);
            assert!(message.contains(expected), "{text:?}: {message}");
        }
    }

    /// What `init` writes, `rebuild` must read.
    #[test]
    fn the_template_is_read_back() {
        let scope = Scope::new("acme", "lantern \"fall\"").unwrap();
        let given =
            SourceSpec { kind: Kind::Unity, name: "client".into(), path: "/p/a b".into(), at: Some("game".into()) };
        let file = read(&template(Some(&scope), std::slice::from_ref(&given))).unwrap();
        assert_eq!((file.scope.as_ref(), file.sources), (Some(&scope), vec![given]));
        let file = read(&template(None, &[])).unwrap();
        assert!(file.scope.is_none() && file.sources.is_empty());
    }
}
