//! Tables and colours, decided once.

use anstyle::{AnsiColor, Color, Style};
use comfy_table::{Attribute, Cell, CellAlignment, ContentArrangement, Table, presets};
use triglyph::ops::shape::printable;

/// What a text is about.
pub(crate) const HEAD: Style = Style::new().bold();
/// What matters less.
pub(crate) const DIM: Style = Style::new().dimmed();
/// As it should be.
pub(crate) const GOOD: Style = Style::new().fg_color(Some(Color::Ansi(AnsiColor::Green)));
/// To be looked at.
pub(crate) const WARN: Style = Style::new().fg_color(Some(Color::Ansi(AnsiColor::Yellow)));
/// Wrong.
pub(crate) const BAD: Style = Style::new().bold().fg_color(Some(Color::Ansi(AnsiColor::Red)));

/// An empty table with these heads. A head that begins with `#` is that of a column of numbers.
///
/// Styles are always written; the stream takes them out where nobody wants them.
pub(crate) fn table(heads: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_preset(presets::NOTHING).enforce_styling();
    table.set_header(heads.iter().map(|head| Cell::new(head.trim_start_matches('#')).add_attribute(Attribute::Bold)));
    for (i, (head, column)) in heads.iter().zip(table.column_iter_mut()).enumerate() {
        column.set_padding((0, if i + 1 < heads.len() { 2 } else { 0 }));
        if head.starts_with('#') {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table
}

/// The same for cells of many words: they are wrapped to the width of the terminal, where it has one worth the name.
pub(crate) fn wrapping(heads: &[&str]) -> Table {
    let mut table = table(heads);
    if table.width().is_some_and(|width| width >= WIDTH_MIN) {
        table.set_content_arrangement(ContentArrangement::Dynamic);
    }
    table
}

/// In less than this, wrapped cells are harder to read than long lines.
const WIDTH_MIN: u16 = 60;

/// The text of a table, its lines without trailing spaces; nothing for a table without rows.
pub(crate) fn text(table: &Table) -> String {
    if table.row_count() == 0 {
        return String::new();
    }
    table.lines().map(|line| format!("{}\n", trimmed(&line))).collect()
}

/// A line without its trailing spaces, those within its last style included.
fn trimmed(line: &str) -> String {
    const PLAIN: &str = "\x1b[0m";
    let mut line = line.trim_end();
    let mut plain = "";
    while let Some(styled) = line.strip_suffix(PLAIN) {
        (line, plain) = (styled.trim_end(), PLAIN);
    }
    format!("{line}{plain}")
}

/// A name or value that somebody else chose, as a cell or a line bears it: escaped, and short. Every such text goes
/// through this, [`sentence`] or [`whole`] before it is shown.
pub(crate) fn plain(text: &str) -> String {
    printable(text, 120)
}

/// The same for what explains: a reason, the message of an error.
pub(crate) fn sentence(text: &str) -> String {
    printable(text, SENTENCE_CHARS_MAX)
}

/// The same for what is no use when it is cut: a path, a command.
pub(crate) fn whole(text: impl std::fmt::Display) -> String {
    printable(&text.to_string(), usize::MAX)
}

/// A message of several lines, each a [`sentence`]. No line of it can pass for one of ours: all but the first are
/// indented.
pub(crate) fn message(text: &str) -> String {
    const LINES_MAX: usize = 40;
    let mut lines = text.trim_end().split('\n');
    let mut shown: Vec<String> = lines.by_ref().take(LINES_MAX).map(|line| sentence(line.trim_end())).collect();
    let left = lines.count() as u64;
    if left > 0 {
        shown.push(format!("… {}", plural(left, "more line")));
    }
    shown.join("\n  ")
}

/// The most characters of a sentence.
pub(crate) const SENTENCE_CHARS_MAX: usize = 2_000;

/// A number with a comma at every third digit.
pub(crate) fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A size in bytes, in the unit that fits.
pub(crate) fn bytes(bytes: u64) -> String {
    indicatif::HumanBytes(bytes).to_string()
}

/// `1 row`, `2 rows`.
pub(crate) fn plural(number: u64, noun: &str) -> String {
    let ending = match (number, noun) {
        (1, _) => return format!("1 {noun}"),
        (_, noun) if noun.ends_with('y') => return format!("{} {}ies", count(number), &noun[..noun.len() - 1]),
        _ => "s",
    };
    format!("{} {noun}{ending}", count(number))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A name in a graph is anybody's: it must not colour the terminal, forge a line, or hide.
    #[test]
    fn foreign_text_stays_in_its_place() {
        for (text, expected) in [
            ("Hero\x1b[31m.cs", r"Hero\u{1b}[31m.cs"),
            ("a\nerror: b\rc\td", r"a\nerror: b\rc\td"),
            ("\u{9b}2J \u{202e}sc.\u{200b}\u{e0041}", r"\u{9b}2J \u{202e}sc.\u{200b}\u{e0041}"),
            ("Ünïcode ゲーム 🏮", "Ünïcode ゲーム 🏮"),
        ] {
            assert_eq!([plain(text), sentence(text), whole(text)], [expected; 3]);
        }
        let long = format!("{}{}", "a".repeat(5_000), "z".repeat(5_000));
        assert_eq!(
            [&plain(&long), &sentence(&long), &whole(&long)].map(|text| text.chars().count()),
            [121, 2_001, 10_000]
        );
        assert!(plain(&long).starts_with("aaa") && plain(&long).ends_with("zzz"));
        assert_eq!(message("one\r\nerror: two\x07\n"), "one\n  error: two\\u{7}");
        assert_eq!(message(&"x\n".repeat(50)).lines().last(), Some("  … 10 more lines"));
    }

    #[test]
    fn numbers_are_grouped_by_thousands() {
        for (number, expected) in [(0, "0"), (999, "999"), (1_000, "1,000"), (1_234_567, "1,234,567")] {
            assert_eq!(count(number), expected);
        }
        assert_eq!([plural(1, "entity"), plural(2, "entity"), plural(0, "row")], ["1 entity", "2 entities", "0 rows"]);
    }
}
