//! A pattern of CODEOWNERS, and whether a path matches it.
//!
//! A pattern is cut at its slashes; a path is cut likewise, and the two are walked side by side. Only `**` can take any
//! number of components, and only `*` any number of characters. For both, the walk remembers the *last* one that it
//! passed and, where it gets stuck, lets that one take one more. An earlier one never needs another try: what it could
//! take, the last one can. So matching costs at most the product of both lengths, whatever the pattern.
//!
//! The rules are those of gitignore as GitHub applies them:
//!
//! 1. A pattern with a slash before its end is anchored at the base, any other matches at every depth.
//! 2. A pattern that names a folder matches everything beneath it, and with a trailing slash only that.
//! 3. A last component `*` matches one component and nothing beneath: `docs/*` is not `docs/`.
//! 4. `!` (negation) and `***` are errors; `[` and `]` are plain characters, for there are no ranges.

use crate::error::Error;

/// A compiled pattern.
///
/// ```
/// use triglyph::sources::ownership::Pattern;
///
/// let pattern = Pattern::new("/Assets/**/*.prefab")?;
/// assert!(pattern.matches("Assets/Actors/Hero/Hero.prefab"));
/// assert!(!pattern.matches("Assets/Actors/Hero/Hero.png"));
/// # Ok::<(), triglyph::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Pattern {
    segments: Vec<Segment>,
    end: End,
    /// No shorter path matches, so a pattern can't cost more than the path's length squared.
    bytes_min: usize,
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum Segment {
    /// `**`: any number of components, also none.
    Many,
    /// A component spelled out.
    Literal(String),
    /// A component with wildcards; a lone `*` wants at least one character.
    Wild(Vec<Token>),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Token {
    Star,
    Any,
    Char(char),
}

/// What may follow in the path where the segments end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum End {
    Nothing,
    Anything,
    Something,
}

/// A cheap condition that every path that matches fulfils, by which a long list of patterns is searched.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Hint {
    /// The path begins with these components.
    Prefix(String),
    /// Some component is this one.
    Component(String),
    /// Some component ends in this, from its last dot on.
    Extension(String),
}

impl Pattern {
    /// Reads a pattern as it stands in the file, with its escapes.
    ///
    /// # Errors
    /// `invalid`, with the reason, for what CODEOWNERS does not know: an empty pattern, `!`, `***`, and a backslash with
    /// nothing behind it.
    pub fn new(text: &str) -> Result<Pattern, Error> {
        if text.is_empty() {
            return Err(Error::invalid("expected a pattern, found nothing"));
        }
        if text.starts_with('!') {
            return Err(Error::invalid(format!(
                "expected a pattern, found the negation {text:?}; CODEOWNERS has none, write a later rule without owners"
            )));
        }
        if text.contains("***") {
            return Err(Error::invalid(format!("expected \"*\" or \"**\", found \"***\" in {text:?}")));
        }
        let (anchored, body) = text.strip_prefix('/').map_or((false, text), |body| (true, body));
        let (folder, body) = body.strip_suffix('/').map_or((false, body), |body| (true, body));
        let anchored = anchored || body.contains('/');

        let mut segments = Vec::new();
        if !anchored {
            segments.push(Segment::Many);
        }
        for component in body.split('/') {
            let segment = Segment::new(component)
                .ok_or_else(|| Error::invalid(format!("expected a character behind the last backslash of {text:?}")))?;
            if segment != Segment::Many || segments.last() != Some(&Segment::Many) {
                segments.push(segment);
            }
        }
        let end = match segments.last() {
            Some(Segment::Many) => {
                segments.pop();
                End::Something
            }
            _ if folder => End::Something,
            Some(Segment::Wild(tokens)) if tokens[..] == [Token::Star] => End::Nothing,
            _ => End::Anything,
        };
        let spelled = segments.iter().filter(|segment| **segment != Segment::Many).count();
        let slashes = spelled.saturating_sub(1) + usize::from(spelled > 0 && end == End::Something);
        let bytes_min = slashes + segments.iter().map(Segment::bytes_min).sum::<usize>();
        Ok(Pattern { segments, end, bytes_min })
    }

    /// Whether `path`, relative to the base and with `/` between components, matches.
    ///
    /// Costs at most the product of the two lengths, and allocates nothing.
    pub fn matches(&self, path: &str) -> bool {
        if path.len() < self.bytes_min {
            return false;
        }
        let mut rest = Some(path);
        let mut segment = 0;
        // After a `**`: the segment behind it, and the components that it has not taken.
        let mut retry: Option<(usize, &str)> = None;
        loop {
            let fits = match (self.segments.get(segment), rest) {
                (None, rest) => match self.end {
                    End::Anything => return true,
                    End::Something => return rest.is_some(),
                    End::Nothing if rest.is_none() => return true,
                    End::Nothing => false,
                },
                (Some(_), None) => return false,
                (Some(Segment::Many), Some(components)) => {
                    segment += 1;
                    retry = Some((segment, components));
                    true
                }
                (Some(wanted), Some(components)) => {
                    let (component, behind) = split(components);
                    segment += 1;
                    rest = behind;
                    wanted.matches(component)
                }
            };
            if !fits {
                let Some((behind_many, Some(fewer))) = retry.map(|(at, components)| (at, split(components).1)) else {
                    return false;
                };
                segment = behind_many;
                rest = Some(fewer);
                retry = Some((segment, fewer));
            }
        }
    }

    /// A condition that every match fulfils, if the pattern has one that is worth looking up.
    pub(crate) fn hint(&self) -> Option<Hint> {
        let leading: Vec<&str> = self.segments.iter().map_while(Segment::literal).collect();
        if !leading.is_empty() {
            return Some(Hint::Prefix(leading.join("/")));
        }
        if let Some(component) = self.segments.iter().rev().find_map(Segment::literal) {
            return Some(Hint::Component(component.to_owned()));
        }
        self.segments.iter().rev().find_map(Segment::extension).map(Hint::Extension)
    }
}

/// The first component and what follows it.
fn split(components: &str) -> (&str, Option<&str>) {
    match components.split_once('/') {
        Some((first, behind)) => (first, Some(behind)),
        None => (components, None),
    }
}

impl Segment {
    /// `None` where a backslash escapes nothing.
    fn new(text: &str) -> Option<Segment> {
        if text == "**" {
            return Some(Segment::Many);
        }
        let mut tokens = Vec::new();
        let mut chars = text.chars();
        while let Some(char) = chars.next() {
            match char {
                '*' if tokens.last() == Some(&Token::Star) => {}
                '*' => tokens.push(Token::Star),
                '?' => tokens.push(Token::Any),
                '\\' => tokens.push(Token::Char(chars.next()?)),
                char => tokens.push(Token::Char(char)),
            }
        }
        let literal: Option<String> = tokens.iter().map(|token| token.char()).collect();
        Some(literal.map_or(Segment::Wild(tokens), Segment::Literal))
    }

    fn bytes_min(&self) -> usize {
        match self {
            Segment::Many => 0,
            Segment::Literal(text) => text.len(),
            Segment::Wild(tokens) => tokens.iter().map(|token| token.bytes_min()).sum::<usize>().max(1),
        }
    }

    fn literal(&self) -> Option<&str> {
        match self {
            Segment::Literal(text) => Some(text),
            _ => None,
        }
    }

    /// The literal end of a wild segment, from its last dot on.
    fn extension(&self) -> Option<String> {
        let Segment::Wild(tokens) = self else { return None };
        let literal = tokens.iter().rposition(|token| token.char().is_none()).map_or(0, |last| last + 1);
        let tail: String = tokens[literal..].iter().filter_map(|token| token.char()).collect();
        tail.rfind('.').map(|dot| tail[dot..].to_owned())
    }

    fn matches(&self, component: &str) -> bool {
        match self {
            Segment::Many => true,
            Segment::Literal(text) => text == component,
            Segment::Wild(tokens) => wild(tokens, component),
        }
    }
}

impl Token {
    fn bytes_min(self) -> usize {
        match self {
            Token::Star => 0,
            Token::Any => 1,
            Token::Char(char) => char.len_utf8(),
        }
    }

    fn char(self) -> Option<char> {
        match self {
            Token::Char(char) => Some(char),
            Token::Star | Token::Any => None,
        }
    }
}

fn wild(tokens: &[Token], component: &str) -> bool {
    if component.is_empty() {
        return false;
    }
    let mut chars = component.chars();
    let mut token = 0;
    // After a `*`: the token behind it, and the characters that it has not taken.
    let mut retry: Option<(usize, std::str::Chars<'_>)> = None;
    loop {
        let fits = match tokens.get(token) {
            None if chars.as_str().is_empty() => return true,
            None => false,
            Some(Token::Star) => {
                token += 1;
                retry = Some((token, chars.clone()));
                true
            }
            Some(Token::Any) => {
                token += 1;
                chars.next().is_some()
            }
            Some(Token::Char(wanted)) => {
                token += 1;
                chars.next() == Some(*wanted)
            }
        };
        if !fits {
            let Some((behind_star, fewer)) = &mut retry else { return false };
            if fewer.next().is_none() {
                return false;
            }
            token = *behind_star;
            chars = fewer.clone();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every row is a file that would go to the wrong reviewer.
    #[test]
    fn verdicts() {
        for (pattern, path, expected) in [
            ("/", "foo", false),
            ("//foo", "foo", false),
            ("a//b", "a/b", false),
            ("**", "foo", true),
            ("**/", "foo", true),
            ("**/**", "a/b/c", true),
            ("/**", "foo", true),
            ("a**b", "axxb", true),
            ("a**b", "a/b", false),
            ("**a/", "xa/b", true),
            ("f\\*o/", "f*o/x", true),
            ("foo\\ bar", "foo bar", true),
            ("\\#notes", "docs/#notes", true),
            ("C#/", "Assets/C#/Hero.cs", true),
            ("*.cs", "Assets/Hero.cs", true),
            ("*.cs", "Assets/Hero.css", false),
            ("*.cs", "Assets/Hero.cs/readme", true),
            ("Hero.*", "Assets/Hero.prefab.meta", true),
            ("caf?", "café", true),
            ("caf??", "café", false),
            ("?", "é", true),
            ("*é*", "café au lait", true),
            ("Foo", "foo", false),
            ("[ab]", "a", false),
            ("[ab]", "[ab]", true),
            ("a/**/b/**/c", "a/b/x/b/c/d", true),
            ("a/**/b/*", "a/x/b/y/b/z", true),
            ("a/**/b/*", "a/x/b/y/z", false),
            ("**/b/**/*", "a/b", false),
            ("foo/*", "foo/", false),
            ("*/*", "a/b", true),
            ("*/*", "a/b/c", false),
            ("x*y*z", "xyyzyz", true),
            ("x*y*z", "xyyzy", false),
        ] {
            assert_eq!(Pattern::new(pattern).unwrap().matches(path), expected, "{pattern} on {path}");
        }
    }

    #[test]
    fn what_is_no_pattern_says_why() {
        for (text, reason) in [
            ("", "found nothing"),
            ("!secret", "negation"),
            ("***/a", "\"***\""),
            ("foo\\", "last backslash"),
            ("foo\\/bar", "last backslash"),
        ] {
            let error = Pattern::new(text).unwrap_err();
            assert!(error.to_string().contains(reason), "{text}: {error}");
        }
    }

    /// One line of a pull request must not stop the rebuild of everyone.
    #[test]
    fn hostile_patterns_are_quick() {
        let path = vec!["a".repeat(100); 100].join("/");
        for pattern in [
            "**/a".repeat(400) + "/b",
            "*a".repeat(400) + "b",
            ("**/".to_owned() + &"*a".repeat(90) + "b/").repeat(10) + "x",
            "**/".repeat(1_000) + "b",
            "?*".repeat(150) + "b",
        ] {
            let pattern = Pattern::new(&pattern).unwrap();
            // Steps are bounded by the product of the lengths, 10^7 or so; a naive matcher would need 2^400.
            assert!(!pattern.matches(&path));
        }
    }

    /// A hint that is not fulfilled by some match would lose owners.
    #[test]
    fn hints() {
        let prefix = |text: &str| Some(Hint::Prefix(text.into()));
        for (pattern, expected) in [
            ("/Assets/Art/*.png", prefix("Assets/Art")),
            ("/Assets/Art/", prefix("Assets/Art")),
            ("a/**/b", prefix("a")),
            ("Art/", Some(Hint::Component("Art".into()))),
            ("**/x/**/Art/*.png", Some(Hint::Component("Art".into()))),
            ("*.png", Some(Hint::Extension(".png".into()))),
            ("/*.test.js", Some(Hint::Extension(".js".into()))),
            ("*.a/*b", Some(Hint::Extension(".a".into()))),
            ("*", None),
            ("*.p?", None),
            ("test_*", None),
        ] {
            assert_eq!(Pattern::new(pattern).unwrap().hint(), expected, "{pattern}");
        }
    }
}
