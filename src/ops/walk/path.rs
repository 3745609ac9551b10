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

/// The path from a subject to the entity at `place`, as one line of labels and arrows.
pub(crate) fn compact(lens: &Lens, reached: &[Reached], labels: &[String], meter: &Meter, mut place: usize) -> String {
    let mut parts = vec![labels[place].clone()];
    while let Some((edge, way, from)) = reached[place].by {
        let row = lens.engine().relation(meter.edges()[edge]);
        let kind = &lens.engine().types[row.kind.at()];
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
