//! `salvage`: gives up what stands behind the damage of a log.
//!
//! What would be lost is known only once it is done, so it is done with `--yes` alone; without it the log is read, and
//! the damage told.

use triglyph::Code;
use triglyph::id::Seq;
use triglyph::persist::{Lost, Salvage};

use super::quote;
use crate::args::{Global, SalvageArgs};
use crate::outcome::{Failure, Output};
use crate::place::Place;
use crate::table::{DIM, GOOD, WARN, bytes, count, plain, plural, table, text, whole};

pub(crate) fn salvage(args: &SalvageArgs, global: &Global) -> Result<Output, Failure> {
    let place = Place::open(&args.store, global)?;
    let scope = place.scope(global)?;
    let missing = |error: triglyph::Error| match error.code() {
        Code::NotFound => place.missing(&scope),
        _ => error,
    };
    if args.yes {
        let salvage = place.store.salvage(&scope).map_err(missing)?;
        return Output::new(&salvage, shown(&whole(&scope), &salvage));
    }
    match place.store.existing(&scope) {
        Ok(graph) => {
            let salvage = Salvage { kept: graph.recovery().last, promised: None, lost: Vec::new() };
            Output::new(&salvage, shown(&whole(&scope), &salvage))
        }
        Err(error) if [Code::Corrupt, Code::Foreign].contains(&error.code()) => {
            let store = quote(&args.store.to_string_lossy());
            let command = format!("triglyph salvage {store} --scope {} --yes", quote(&scope.to_string()));
            Err(Failure::Usage(format!(
                "{error}\nsalvage keeps the commits before the damage, sets aside the files behind it under the name \
                 lost-…, deletes nothing, and lists what is lost; nothing was done yet\nwithout a backup to restore, \
                 go ahead with: {command}"
            )))
        }
        Err(error) => Err(missing(error).into()),
    }
}

fn shown(scope: &str, salvage: &Salvage) -> String {
    let Salvage { kept, promised, lost } = salvage;
    if lost.is_empty() && promised.is_none() {
        let state = format!("{GOOD}whole{GOOD:#}: the log of {scope} can be read up to sequence {}", count(kept.0));
        return format!("{state}; there is nothing to salvage\n");
    }
    let mut rows = table(&["set aside", "#from byte", "#size", "commits in it"]);
    for Lost { file, offset, bytes: size, commits } in lost {
        let ranges: Vec<String> = commits.iter().map(range).collect();
        rows.add_row([plain(file), count(*offset), bytes(*size), ranges.join(", ")]);
    }
    let mut out =
        format!("{GOOD}salvaged{GOOD:#}: {scope} ends at sequence {} now, and can be written again\n", kept.0);
    if let Some(promised) = promised {
        let gone = plural(promised.0.saturating_sub(kept.0), "durable commit");
        out += &format!("{WARN}lost:{WARN:#} {gone}, sequence {}\n", range(&(kept.next(), *promised)));
    }
    out += &text(&rows);
    out + &format!("{DIM}the files are kept as they were; a rebuild reads from the sources again{DIM:#}\n")
}

fn range((first, last): &(Seq, Seq)) -> String {
    if first == last { first.0.to_string() } else { format!("{} to {}", first.0, last.0) }
}
