//! How an entity was reached, in one line: `hero.png ←DEPENDS_ON– hero.mat ←DEPENDS_ON– Hero.prefab`.

use super::expand::Reached;
use crate::budget::Meter;
use crate::engine::lens::Lens;
use crate::index::adjacency::Way;

/// The places, in the answer, of the relations from a subject to the entity at `place`.
pub(crate) fn edges(reached: &[Reached], mut place: usize) -> Vec<usize> {
    let mut edges = Vec::new();
    while let Some((edge, _, from)) = reached[place].by {
        edges.push(edge);
        place = from;
    }
    edges.reverse();
    edges
}

/// The most characters of a label that a line shows.
const LABEL_CHARS_MAX: usize = 120;

/// A label as a line of an answer shows it.
pub(crate) fn plain(label: &str) -> String {
    printable(label, LABEL_CHARS_MAX)
}

/// A foreign text as a line shows it: it can't break the line, reorder it, hide in it, or pass for an arrow of it.
///
/// What has more than `chars_max` characters loses its middle: names differ at their ends, paths at either.
pub fn printable(text: &str, chars_max: usize) -> String {
    let chars = text.chars().count();
    let half = chars_max / 2;
    let (head, tail) = if chars > chars_max { (half, chars - half) } else { (chars, chars) };
    let mut out = String::with_capacity(text.len().min(chars_max.saturating_mul(4)));
    for (i, character) in text.chars().enumerate() {
        if i == head {
            out.push('…');
        }
        if i < head || i >= tail {
            match character {
                '\n' | '\r' | '\t' => out.extend(character.escape_default()),
                _ if character.is_control() || unseen(character) => out.extend(character.escape_unicode()),
                _ => out.push(character),
            }
        }
    }
    out
}

/// What changes how other characters are shown, or shows nothing itself; and the heads of arrows.
fn unseen(character: char) -> bool {
    matches!(
        character,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{feff}' | '\u{ffa0}' | '\u{fff9}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e0fff}'
            | '→' | '←'
    )
}

/// The path from a subject to the entity at `place`, as one line of plain labels and arrows.
pub(crate) fn compact(lens: &Lens, reached: &[Reached], labels: &[String], meter: &Meter, mut place: usize) -> String {
    let mut parts = vec![labels[place].clone()];
    while let Some((edge, way, from)) = reached[place].by {
        let row = lens.engine().relation(meter.edges()[edge]);
        let kind = plain(&lens.engine().types[row.kind.at()]);
        parts.push(match way {
            Way::Out => format!(" –{kind}→ "),
            Way::In => format!(" ←{kind}– "),
        });
        parts.push(labels[from].clone());
        place = from;
    }
    parts.reverse();
    parts.concat()
}
