//! The rules of one CODEOWNERS, and which of them decides a path: the last that matches.
//!
//! Trying every rule on every file is what makes large rule lists slow. Most patterns begin with spelled-out folders,
//! or end in an extension, so each rule waits under one such hint (a prefix, a component, an extension) and a path
//! asks only for the hints that it has itself, from the last rule backwards.
//!
//! 1. The index never changes an answer: every rule that matches is found under a hint of the path, or in `others`.
//! 2. Rules travel as content: [`to_value`] and [`Rules::from_value`] are inverse.

use std::collections::HashMap;

use super::pattern::{Hint, Pattern};
use crate::error::Error;
use crate::key::Name;
use crate::value::Value;

/// One line of CODEOWNERS.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Rule {
    /// The line, counted from 1.
    pub line: u32,
    /// The pattern as written.
    pub pattern: Name,
    /// The external ids of its owners, in order; none means that what matches has no owner.
    pub owners: Vec<Name>,
}

/// The rules of one file, in its order, ready to be asked.
#[derive(Clone, Debug, Default)]
pub struct Rules {
    rules: Vec<(Rule, Pattern)>,
    by_prefix: HashMap<String, Vec<u32>>,
    by_component: HashMap<String, Vec<u32>>,
    by_extension: HashMap<String, Vec<u32>>,
    others: Vec<u32>,
}

impl Rules {
    /// Compiles a list of rules.
    ///
    /// # Errors
    /// `invalid` when one of the patterns is none.
    pub fn new(list: Vec<Rule>) -> Result<Rules, Error> {
        let mut rules = Rules::default();
        for (position, rule) in (0u32..).zip(list) {
            let pattern = Pattern::new(&rule.pattern).map_err(|error| error.at(format_args!("line {}", rule.line)))?;
            let waiting = match pattern.hint() {
                Some(Hint::Prefix(prefix)) => rules.by_prefix.entry(prefix).or_default(),
                Some(Hint::Component(component)) => rules.by_component.entry(component).or_default(),
                Some(Hint::Extension(extension)) => rules.by_extension.entry(extension).or_default(),
                None => &mut rules.others,
            };
            waiting.push(position);
            rules.rules.push((rule, pattern));
        }
        Ok(rules)
    }

    /// Reads the rules back from the property that `to_value` made.
    ///
    /// # Errors
    /// `invalid` when the value is no list of rules.
    pub fn from_value(value: &Value) -> Result<Rules, Error> {
        let Value::List(items) = value else { return Err(malformed(value)) };
        Rules::new(items.iter().map(rule).collect::<Result<_, _>>()?)
    }

    /// The rule that decides `path`, which is relative to the base of the file: the last one that matches.
    pub fn deciding(&self, path: &str) -> Option<&Rule> {
        let mut best = None;
        self.latest(&self.others, path, &mut best);
        let mut start = 0;
        for component in path.split('/') {
            let end = start + component.len();
            for waiting in [
                self.by_prefix.get(&path[..end]),
                self.by_component.get(component),
                component.rfind('.').and_then(|dot| self.by_extension.get(&component[dot..])),
            ] {
                self.latest(waiting.map_or(&[], Vec::as_slice), path, &mut best);
            }
            start = end + 1;
        }
        best.map(|position| &self.rules[position as usize].0)
    }

    /// Raises `best` to the last of `waiting` that matches, if that comes later.
    fn latest(&self, waiting: &[u32], path: &str, best: &mut Option<u32>) {
        let later = waiting.iter().rev().take_while(|position| best.is_none_or(|best| **position > best));
        if let Some(position) = later.copied().find(|position| self.rules[*position as usize].1.matches(path)) {
            *best = Some(position);
        }
    }

    /// The rules, in the order of the file.
    pub fn iter(&self) -> impl Iterator<Item = &Rule> {
        self.rules.iter().map(|(rule, _)| rule)
    }
}

/// The rules as a property: one `[line, pattern, [owners…]]` per rule, in the order of the file.
pub(super) fn to_value(rules: &[Rule]) -> Value {
    let rule = |rule: &Rule| {
        let owners: Vec<Value> = rule.owners.iter().map(Value::from).collect();
        Value::from(vec![Value::Int(rule.line.into()), Value::from(&rule.pattern), Value::from(owners)])
    };
    Value::from(rules.iter().map(rule).collect::<Vec<_>>())
}

/// The rule of a file with this base that decides `path`, as `link` would find it.
///
/// `rules` is the property `ownership_rules` of a CODEOWNERS, `base` its `ownership_base`; `path` has the same root as
/// the base. Compiles every rule, so whoever asks about many paths keeps a [`Rulebook`](super::Rulebook).
///
/// # Errors
/// `invalid` when the value is no list of rules.
pub fn deciding_rule(rules: &Value, base: &str, path: &str) -> Result<Option<Rule>, Error> {
    let rules = Rules::from_value(rules)?;
    Ok(beneath(base, path).and_then(|path| rules.deciding(path)).cloned())
}

/// `path` relative to `base`, where it lies beneath it.
pub(super) fn beneath<'a>(base: &str, path: &'a str) -> Option<&'a str> {
    if base.is_empty() { Some(path) } else { path.strip_prefix(base)?.strip_prefix('/') }
}

fn rule(value: &Value) -> Result<Rule, Error> {
    let Value::List(fields) = value else { return Err(malformed(value)) };
    let [Value::Int(line), Value::Text(pattern), Value::List(owners)] = &fields[..] else {
        return Err(malformed(value));
    };
    let owners: Option<Vec<Name>> = owners.iter().map(|owner| owner.as_str().map(Name::from)).collect();
    Ok(Rule {
        line: u32::try_from(*line).map_err(|_| malformed(value))?,
        pattern: (**pattern).into(),
        owners: owners.ok_or_else(|| malformed(value))?,
    })
}

fn malformed(value: &Value) -> Error {
    let found: String = value.canonical().chars().take(80).collect();
    Error::invalid(format!("expected ownership rules such as [[1,\"*.cs\",[\"@acme/code\"]]], found {found}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(patterns: &[&str]) -> Vec<Rule> {
        (1..)
            .zip(patterns)
            .map(|(line, pattern)| Rule { line, pattern: (*pattern).into(), owners: vec![format!("@o{line}").into()] })
            .collect()
    }

    /// Were the first match to win, the line `*` at the top of most files would own everything.
    #[test]
    fn the_last_match_wins() {
        let list = ["*", "*.cs", "/Assets/", "Editor/", "/Assets/Art/*.png", "x?", "/Assets/Art/Hero.png"];
        let rules = Rules::new(rules(&list)).unwrap();
        for (path, line) in [
            ("README", 1),
            ("src/Hero.cs", 2),
            ("Assets/Hero.cs", 3),
            ("Assets/Editor/Hero.cs", 4),
            ("Assets/Art/Tree.png", 5),
            ("Assets/Art/More/Tree.png", 3),
            ("Assets/Art/xx", 6),
            ("Assets/Art/Hero.png", 7),
        ] {
            assert_eq!(rules.deciding(path).map(|rule| rule.line), Some(line), "{path}");
        }
        assert_eq!(Rules::new(vec![]).unwrap().deciding("a").map(|rule| rule.line), None);
    }

    #[test]
    fn rules_are_content() {
        let mut list = rules(&["*", "/docs/ a\\ b"]);
        list[1].owners.clear();
        let value = to_value(&list);
        assert_eq!(value.canonical(), r#"[[1,"*",["@o1"]],[2,"/docs/ a\\ b",[]]]"#);
        assert!(Rules::from_value(&value).unwrap().iter().eq(&list));
        let decided = deciding_rule(&value, "game", "game/docs/x").unwrap();
        assert_eq!(decided.unwrap().line, 1);
        assert_eq!(deciding_rule(&value, "game", "gamepad/docs/x").unwrap(), None);
    }

    /// The property may have been written by another version, or by hand.
    #[test]
    fn a_malformed_value_is_an_error() {
        for json in
            ["null", "1", "[1]", "[[1]]", "[[1,2,[]]]", "[[-1,\"*\",[]]]", "[[1,\"*\",[2]]]", "[[1,\"***\",[]]]"]
        {
            let value: Value = serde_json::from_str(json).unwrap();
            assert_eq!(Rules::from_value(&value).unwrap_err().code(), crate::Code::Invalid, "{json}");
        }
    }
}
