//! A source file as the rules see it: its code, with all else blanked.
//!
//! No parser: comments, literals and test modules become spaces, character by character, so that a place in the code
//! is a place in the file. What is left is words and paths, which is all that the rules speak of.

/// A source file below `src/`.
pub(super) struct Source {
    /// Its path below `src/`, with `/` between components.
    pub(super) path: String,
    /// Its text.
    pub(super) text: String,
    /// Its text, as long, with comments, literals and tests blanked: `#[cfg(test)]` items, and files called `tests.rs`.
    code: String,
}

impl Source {
    pub(super) fn new(path: &str, text: &str) -> Source {
        let mut code = blank_literals(text);
        if path.ends_with("/tests.rs") {
            blank(&mut code);
        }
        blank_tests(&mut code);
        Source { path: path.to_owned(), text: text.to_owned(), code: code.into_iter().collect() }
    }

    /// The module that the file holds: `["engine", "ontology"]`.
    pub(super) fn module(&self) -> Vec<&str> {
        let stem = self.path.strip_suffix(".rs").unwrap_or(&self.path);
        let parts: Vec<&str> = stem.split('/').collect();
        match parts.split_last() {
            Some((&("mod" | "lib"), parents)) => parents.to_vec(),
            _ => parts,
        }
    }

    /// Lines of code with their numbers, from 1.
    pub(super) fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        self.code.lines().enumerate().map(|(i, line)| (i + 1, line))
    }

    /// Every identifier, with its line, and what stands right before and after it.
    pub(super) fn words(&self) -> Vec<Word<'_>> {
        let mut words = Vec::new();
        let mut line = 1;
        let mut rest = self.code.char_indices().peekable();
        while let Some((start, c)) = rest.next() {
            line += usize::from(c == '\n');
            if !is_word(c) {
                continue;
            }
            let mut end = start + c.len_utf8();
            while let Some((at, c)) = rest.next_if(|(_, c)| is_word(*c)) {
                end = at + c.len_utf8();
            }
            let (before, after) = (&self.code[..start], &self.code[end..]);
            words.push(Word { text: &self.code[start..end], line, before, after });
        }
        words
    }

    /// The names right below `root` that the code uses: `fs` in `std::fs::File` and in `use std::{fs, io}`.
    pub(super) fn below(&self, root: &str) -> Vec<(usize, &str)> {
        let roots = self.words().into_iter().filter(|word| word.text == root && !word.before.ends_with("::"));
        roots.flat_map(|word| first_names(word.line, word.after)).collect()
    }

    /// The names at the crate's root that the code uses, through `crate::` or enough `super::`.
    pub(super) fn at_root(&self) -> Vec<(usize, &str)> {
        let mut names = self.below("crate");
        let depth = self.module().len();
        for word in self.words() {
            if word.text != "super" || word.before.ends_with("::") {
                continue;
            }
            let (mut supers, mut after) = (1, word.after);
            while let Some(further) = after.strip_prefix("::super") {
                (supers, after) = (supers + 1, further);
            }
            if supers == depth {
                names.extend(first_names(word.line, after));
            }
        }
        names
    }
}

/// An identifier in code.
pub(super) struct Word<'a> {
    pub(super) text: &'a str,
    pub(super) line: usize,
    pub(super) before: &'a str,
    pub(super) after: &'a str,
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// The identifiers that follow a path's root: one, or those at the top of a group.
fn first_names(mut line: usize, after: &str) -> Vec<(usize, &str)> {
    let Some(tail) = after.strip_prefix("::") else { return Vec::new() };
    let ident = |text: &str| text.find(|c: char| !is_word(c)).unwrap_or(text.len());
    if !tail.starts_with('{') {
        return vec![(line, &tail[..ident(tail)])];
    }
    let mut names = Vec::new();
    let (mut depth, mut starts) = (0, false);
    for (at, c) in tail.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            '\n' => line += 1,
            _ => {}
        }
        match c {
            _ if depth == 0 => break,
            '{' | ',' => starts = depth == 1,
            c if starts && is_word(c) => {
                names.push((line, &tail[at..at + ident(&tail[at..])]));
                starts = false;
            }
            _ => {}
        }
    }
    names
}

/// The text as characters, with comments and the insides of literals as spaces.
fn blank_literals(text: &str) -> Vec<char> {
    let mut code: Vec<char> = text.chars().collect();
    let mut at = 0;
    while at < code.len() {
        let end = match (code[at], code.get(at + 1)) {
            ('/', Some('/')) => find(&code, at, &['\n']),
            ('/', Some('*')) => end_of_comment(&code, at),
            ('"', _) => end_of_string(&code, at + 1),
            ('r', Some('"' | '#')) if at == 0 || !is_word(code[at - 1]) || code[at - 1] == 'b' => {
                let hashes = code[at + 1..].iter().take_while(|c| **c == '#').count();
                match code.get(at + 1 + hashes) {
                    Some('"') => {
                        let close: Vec<char> = std::iter::once('"').chain(std::iter::repeat_n('#', hashes)).collect();
                        find(&code, at + 2 + hashes, &close) + close.len()
                    }
                    _ => at, // a raw identifier
                }
            }
            ('\'', Some('\\')) => find(&code, at + 3, &['\'']) + 1,
            ('\'', Some(_)) if code.get(at + 2) == Some(&'\'') => at + 3,
            _ => at, // code, or a lifetime
        };
        let end = end.min(code.len());
        blank(&mut code[at..end]);
        at = end.max(at + 1);
    }
    code
}

fn blank(code: &mut [char]) {
    code.iter_mut().filter(|c| **c != '\n').for_each(|c| *c = ' ');
}

fn find(code: &[char], from: usize, what: &[char]) -> usize {
    let from = from.min(code.len());
    code[from..].windows(what.len()).position(|window| window == what).map_or(code.len(), |at| from + at)
}

fn end_of_string(code: &[char], mut at: usize) -> usize {
    while at < code.len() && code[at] != '"' {
        at += if code[at] == '\\' { 2 } else { 1 };
    }
    at + 1
}

fn end_of_comment(code: &[char], start: usize) -> usize {
    let (mut at, mut depth) = (start, 0);
    while at < code.len() {
        match (code[at], code.get(at + 1)) {
            ('/', Some('*')) => (depth, at) = (depth + 1, at + 2),
            ('*', Some('/')) => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            break;
        }
    }
    at
}

/// Blanks every item under `#[cfg(test)]`: to its `;`, or to the end of its braces.
fn blank_tests(code: &mut [char]) {
    let mark: Vec<char> = "#[cfg(test)]".chars().collect();
    let mut start = find(code, 0, &mark);
    while start < code.len() {
        let mut at = start + mark.len();
        let mut depth = 0;
        while at < code.len() {
            match code[at] {
                '{' => depth += 1,
                '}' => depth -= 1,
                _ => {}
            }
            at += 1;
            if depth == 0 && matches!(code[at - 1], '}' | ';') {
                break;
            }
        }
        blank(&mut code[start..at]);
        start = find(code, at, &mark);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A scanner that took a comment for code would cry wolf; one that took code for a comment would sleep.
    #[test]
    fn only_code_is_left() {
        let text = r###"
            //! crate::ops in words
            use crate::{engine::{View, ops}, /* crate::ffi */ index};
            fn a<'x>(s: &'x str) -> char { let _ = "crate::ops \" unsafe"; let _ = r#"std::fs " "#; '"' }
            use std::{
                fs::File,
                io,
            };
            fn b() { let _ = '\''; super::super::graph::c(); super::d() }
            #[cfg(test)]
            mod tests { use crate::persist; fn f() { std::thread::yield_now() } }
            fn e() { crate::sources::f() }
        "###;
        let source = Source::new("engine/belief.rs", text);
        assert_eq!(source.module(), ["engine", "belief"]);
        assert_eq!(source.at_root(), [(3, "engine"), (3, "index"), (12, "sources"), (9, "graph")]);
        assert_eq!(source.below("std"), [(6, "fs"), (7, "io")]);
        assert!(source.words().iter().all(|word| !["unsafe", "ops", "persist"].contains(&word.text) || word.line == 3));
        assert_eq!(source.text.lines().count(), source.lines().count());
    }
}
