//! The text of a CODEOWNERS file: one rule a line, a pattern and who owns what matches.
//!
//! A line that can't be understood is skipped and reported, as GitHub does; the other lines keep their meaning.
//!
//! 1. Rules come out in the order of the file, with patterns as written and owners as external ids.
//! 2. A handle (`@user`, `@org/team`) is folded to lower case, for a forge knows no two that differ by case; an e-mail
//!    address stays as written.
//! 3. Brackets are plain characters, reported as such: whoever meant a range gets none.
//! 4. GitLab's sections are not understood: the line is reported, and so is a rule that would inherit its owners from
//!    a section, since read plainly it would say "nobody".

use std::collections::BTreeMap;

use super::pattern::Pattern;
use super::rules::Rule;
use crate::error::{Code, Error};
use crate::key::Name;
use crate::sources::Report;
use crate::value::BYTES_MAX;

/// The longest line that is read, in bytes: a pattern of any path that a system takes, and hundreds of owners.
pub const LINE_BYTES_MAX: usize = 16 << 10;

/// What a CODEOWNERS says.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Codeowners {
    /// Its rules, in order.
    pub rules: Vec<Rule>,
    /// Everyone who is named, by external id.
    pub owners: BTreeMap<Name, Mention>,
}

/// The first place where an owner is named.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Mention {
    /// The owner as written there.
    pub written: Name,
    /// The line, counted from 1.
    pub line: u32,
}

impl Codeowners {
    /// Reads a file; `path` is for the report.
    ///
    /// # Errors
    /// `too_large` when the rules take more than the properties of one state may.
    pub fn parse(content: &[u8], path: &str, report: &mut Report) -> Result<Codeowners, Error> {
        let content = content.strip_prefix(b"\xef\xbb\xbf").unwrap_or(content);
        let mut parser = Parser::default();
        for (line, bytes) in (1u32..).zip(content.split(|byte| *byte == b'\n')) {
            if let Err(defect) = parser.line(line, bytes, report) {
                report.defect(format!("{path}:L{line}"), defect.reason, defect.detail);
            }
            if let Some(Rule { pattern, .. }) = parser.found.rules.last().filter(|rule| rule.line == line)
                && pattern.contains('[')
            {
                let detail = format!("{pattern:?} is taken literally: CODEOWNERS has no character ranges");
                report.defect(format!("{path}:L{line}"), "literal_brackets", detail);
            }
            if parser.bytes > BYTES_MAX {
                return Err(Error::new(
                    Code::TooLarge,
                    format!("expected rules of at most {BYTES_MAX} bytes, found more by line {line}; split the file"),
                ));
            }
        }
        Ok(parser.found)
    }
}

#[derive(Default)]
struct Parser {
    found: Codeowners,
    /// At least what the rules so far will take.
    bytes: usize,
    /// Whether the section of GitLab that we are in has owners for rules that name none.
    inherits: bool,
}

struct Defect {
    reason: &'static str,
    detail: String,
}

fn defect(reason: &'static str, detail: impl Into<String>) -> Defect {
    Defect { reason, detail: detail.into() }
}

impl Parser {
    fn line(&mut self, line: u32, bytes: &[u8], report: &mut Report) -> Result<(), Defect> {
        if bytes.len() > LINE_BYTES_MAX {
            let found = bytes.len();
            return Err(defect("long_line", format!("expected at most {LINE_BYTES_MAX} bytes, found {found}")));
        }
        if bytes.contains(&0) {
            return Err(defect("nul", "expected text, found a NUL byte"));
        }
        let text = std::str::from_utf8(bytes).map_err(|error| defect("not_utf8", error.to_string()))?;
        let text = text.trim_ascii_start();
        if text.is_empty() || text.starts_with('#') {
            return Ok(());
        }
        if let Some(owners) = section(text) {
            self.inherits = !owners.is_empty();
            return Err(defect(
                "section",
                "sections of GitLab are not supported: the rules below are read as part of one list, last match wins",
            ));
        }
        let (pattern, rest) = cut_pattern(text);
        Pattern::new(pattern).map_err(|error| defect("pattern", error.to_string()))?;
        let rest = rest.split('#').next().unwrap_or(rest);

        let mut owners: Vec<(Name, &str)> = Vec::new();
        for written in rest.split_ascii_whitespace() {
            let id = owner(written).ok_or_else(|| {
                defect("owner", format!("expected @user, @org/team or an e-mail address, found {written:?}"))
            })?;
            if owners.iter().all(|(known, _)| *known != id) {
                owners.push((id, written));
            }
        }
        if owners.is_empty() {
            if self.inherits {
                return Err(defect(
                    "section_owners",
                    "expected owners, as those of a GitLab section are not inherited",
                ));
            }
            report.count("unowned_rules");
        }
        report.count("rules");
        self.keep(line, pattern, owners);
        Ok(())
    }

    fn keep(&mut self, line: u32, pattern: &str, owners: Vec<(Name, &str)>) {
        self.bytes += pattern.len() + owners.iter().map(|(id, _)| id.len() + 3).sum::<usize>() + 8;
        for (id, written) in &owners {
            if !self.found.owners.contains_key(id) {
                self.found.owners.insert(id.clone(), Mention { written: (*written).into(), line });
            }
        }
        let owners = owners.into_iter().map(|(id, _)| id).collect();
        self.found.rules.push(Rule { line, pattern: pattern.into(), owners });
    }
}

/// The pattern, up to the first white space that no backslash escapes, and the rest of the line.
fn cut_pattern(text: &str) -> (&str, &str) {
    let mut escaped = false;
    for (at, char) in text.char_indices() {
        match char {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            char if char.is_ascii_whitespace() => return text.split_at(at),
            _ => {}
        }
    }
    (text, "")
}

/// What follows the head of a section of GitLab, `[Name]`, `^[Name]` or `[Name][2]`, where the line is one.
fn section(text: &str) -> Option<&str> {
    let inner = text.strip_prefix('^').unwrap_or(text).strip_prefix('[')?;
    let (_, mut rest) = inner.split_once(']')?;
    if let Some((approvals, behind)) = rest.strip_prefix('[').and_then(|rest| rest.split_once(']'))
        && approvals.bytes().all(|byte| byte.is_ascii_digit())
    {
        rest = behind;
    }
    let ends = rest.is_empty() || rest.starts_with(|char: char| char.is_ascii_whitespace());
    ends.then(|| rest.split('#').next().unwrap_or(rest).trim_ascii())
}

/// The external id of an owner: a handle in lower case, or an e-mail address.
fn owner(written: &str) -> Option<Name> {
    if let Some(handle) = written.strip_prefix('@') {
        let plain = |char: char| char.is_alphanumeric() || matches!(char, '-' | '_' | '.');
        let well_formed = handle.split('/').all(|part| !part.is_empty() && part.chars().all(plain));
        return well_formed.then(|| written.to_lowercase().into());
    }
    let (local, domain) = written.split_once('@')?;
    let plain = |char: char| !char.is_control() && !matches!(char, '@' | ',' | ';' | '<' | '>' | '(' | ')');
    (!local.is_empty() && !domain.is_empty() && local.chars().chain(domain.chars()).all(plain)).then(|| written.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: impl AsRef<[u8]>) -> (Codeowners, Report) {
        let mut report = Report::default();
        let found = Codeowners::parse(text.as_ref(), "CODEOWNERS", &mut report).unwrap();
        (found, report)
    }

    fn shown(text: impl AsRef<[u8]>) -> Vec<String> {
        let rule = |rule: &Rule| {
            let owners: Vec<&str> = rule.owners.iter().map(|owner| &**owner).collect();
            format!("{} {} -> {}", rule.line, rule.pattern, owners.join(" "))
        };
        parse(text).0.rules.iter().map(rule).collect()
    }

    #[test]
    fn lines_become_rules() {
        for (text, expected) in [
            ("* @Alice", vec!["1 * -> @alice"]),
            ("\u{feff}* @a\r\n\r\n*.cs\t@a  @b \r\n", vec!["1 * -> @a", "3 *.cs -> @a @b"]),
            ("# note\n  # note\n  *.cs @a # why # so\n*.md @a#b", vec!["3 *.cs -> @a", "4 *.md -> @a"]),
            ("/vendor/\n/lib/ # nobody", vec!["1 /vendor/ -> ", "2 /lib/ -> "]),
            ("a\\ b/ @x\n\\#c @y\nC#/ @z", vec!["1 a\\ b/ -> @x", "2 \\#c -> @y", "3 C#/ -> @z"]),
            ("* @Org/Team Jo.Doe@Example.com @org/team", vec!["1 * -> @org/team Jo.Doe@Example.com"]),
            ("a\\ ", vec!["1 a\\  -> "]),
            ("/apps/[slug]/x.ts @web\n[slug]/x.ts @web", vec!["1 /apps/[slug]/x.ts -> @web", "2 [slug]/x.ts -> @web"]),
            ("", vec![]),
        ] {
            assert_eq!(shown(text), expected, "{text:?}");
        }
    }

    /// A line that is misread owns the wrong files; a line that fails the file owns none.
    #[test]
    fn a_bad_line_is_a_defect_and_the_rest_is_kept() {
        let long = format!("{} @a", "a".repeat(10 << 20));
        for (line, reason) in [
            (&b"!secret @a"[..], "pattern"),
            (b"***/x @a", "pattern"),
            (b"x\\", "pattern"),
            (b"*.cs alice", "owner"),
            (b"*.cs @", "owner"),
            (b"*.cs @a/", "owner"),
            (b"*.cs @a b@c@d", "owner"),
            (b"*.cs @a, @b", "owner"),
            (b"caf\xe9 @a", "not_utf8"),
            (b"a\0b @a", "nul"),
            (b"[Docs]", "section"),
            (b"^[Docs][2] @a # all", "section"),
            (long.as_bytes(), "long_line"),
        ] {
            let text = [b"first @a\n", line, b"\nlast @b\n"].concat();
            let (found, report) = parse(&text);
            assert_eq!(report.defects.len(), 1, "{reason}");
            assert_eq!(
                (report.defects[0].place.as_str(), report.defects[0].reason.as_str()),
                ("CODEOWNERS:L2", reason)
            );
            assert_eq!(found.rules.len(), 2, "{reason}");
            assert_eq!(found.rules[1].line, 3);
        }
    }

    /// Under `[Docs] @writers` a bare pattern is owned by the writers; to read it as "nobody" would be a lie.
    #[test]
    fn owners_of_a_section_are_not_guessed() {
        let text = "[Docs] @writers\n/docs/\n/docs/api @a\n[Other]\n/other/\n";
        assert_eq!(shown(text), ["3 /docs/api -> @a", "5 /other/ -> "]);
        let counts = parse(text).1.counts;
        assert_eq!((counts["defect:section"], counts["defect:section_owners"]), (2, 1));
    }

    #[test]
    fn the_first_mention_names_the_owner() {
        let (found, report) = parse("a @Alice\nb @ALICE @bob\n");
        assert_eq!(found.owners["@alice"], Mention { written: "@Alice".into(), line: 1 });
        assert_eq!(found.owners["@bob"], Mention { written: "@bob".into(), line: 2 });
        assert_eq!(report.counts["rules"], 2);
    }

    #[test]
    fn rules_are_bounded() {
        let mut report = Report::default();
        let text = "a @b\n".repeat(BYTES_MAX / 8);
        let error = Codeowners::parse(text.as_bytes(), "CODEOWNERS", &mut report).unwrap_err();
        assert_eq!(error.code(), Code::TooLarge);
    }
}
