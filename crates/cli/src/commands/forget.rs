//! `forget`: takes back the word of a source that will not be read again.

use triglyph::Counts;
use triglyph::care::forget::{Forgotten, forget};

use super::quote;
use crate::args::{ForgetArgs, Global};
use crate::outcome::{Failure, Output};
use crate::place::Place;
use crate::table::{GOOD, plain, plural, whole};

pub(crate) fn run(args: &ForgetArgs, global: &Global) -> Result<Output, Failure> {
    let place = Place::open(&args.store, global)?;
    let graph = place.reading(global)?;
    let forgotten = forget(&graph, &args.source, !args.yes)?;
    let mut out = shown(&forgotten);
    if forgotten.dry_run {
        let (store, source) = (quote(&args.store.to_string_lossy()), quote(&args.source));
        let scope = quote(&whole(graph.scope()));
        out +=
            &format!("nothing was done yet; go ahead with: triglyph forget {store} {source} --scope {scope} --yes\n");
    }
    Output::new(&forgotten, out)
}

fn shown(Forgotten { source, dry_run, groups, entities, relations, seq }: &Forgotten) -> String {
    let (done, removed) =
        if *dry_run { ("would forget".to_owned(), "would go") } else { (format!("{GOOD}forgot{GOOD:#}"), "went") };
    let gone = |counts: &Counts, what: &str| plural(counts.removed, what);
    format!(
        "{done} {} with {}: {} and {} {removed}, what others say of stays; sequence {seq}\n",
        plain(source),
        plural(*groups, "file group"),
        gone(entities, "entity"),
        gone(relations, "relation"),
    )
}
