//! What a rebuild did: one row a phase, then what was found wanting, by reason.

use std::collections::BTreeMap;

use triglyph::care::rebuild::{PhaseReport, PhaseState, RebuildReport, Verified};
use triglyph::graph::Counts;
use triglyph::sources::Finding;

use super::shortened;
use crate::table::{BAD, DIM, GOOD, WARN, bytes, count, message, plain, plural, sentence, text, whole, wrapping};

/// How many findings of one reason are shown.
const PLACES_MAX: usize = 3;

/// The report for people.
pub(crate) fn rebuild(scope: &triglyph::Scope, report: &RebuildReport) -> String {
    let mut rows =
        wrapping(&["phase", "source", "state", "entities", "relations", "groups", "#stale", "#log", "revision"]);
    for phase in &report.phases {
        rows.add_row([
            phase.phase.clone(),
            plain(&phase.source),
            state(phase.state).to_owned(),
            counts(phase.entities),
            counts(phase.relations),
            counts(phase.groups),
            if phase.stale > 0 { count(phase.stale) } else { String::new() },
            bytes(phase.log_bytes),
            phase.revision.as_ref().map(|revision| shortened(revision)).unwrap_or_default(),
        ]);
    }
    let mut out = text(&rows);
    for phase in &report.phases {
        if let Some(error) = &phase.error {
            out += &format!("{BAD}{} {}:{BAD:#} {}\n", phase.phase, plain(&phase.source), message(error));
        }
        out += &findings(phase, "skipped", &phase.read.skipped);
        out += &findings(phase, "defect", &phase.read.defects);
    }
    let style = if report.is_complete() { GOOD } else { BAD };
    let written = if report.log_bytes == 0 {
        format!("nothing written, still at sequence {}", report.seq)
    } else {
        format!("{} written, sequence {} to {}", bytes(report.log_bytes), report.seq_before, report.seq)
    };
    out + &format!(
        "{style}{}{style:#}: {}, {written}  {DIM}+ added, ~ changed, - removed, = as before{DIM:#}\n",
        report.state,
        whole(scope)
    )
}

/// What `--verify` found; `unread` are the sources that speak in the graph and were not among those read.
pub(crate) fn verified(verified: &Verified, unread: &[String]) -> String {
    let Verified { equal, projected, fresh } = verified;
    if *equal {
        return format!("{GOOD}verified{GOOD:#}: a rebuild from nothing gives the same content, {projected}\n");
    }
    let mut out = format!("{BAD}differs{BAD:#} from a rebuild from nothing over the same sources\n");
    out += &format!("  the graph     {projected}\n  from nothing  {fresh}\n");
    if !unread.is_empty() {
        out += &format!("  the graph also holds what {} said, which was not read now\n", plain(&unread.join(", ")));
    }
    out
}

fn state(state: PhaseState) -> &'static str {
    match state {
        PhaseState::Skipped => "unchanged",
        PhaseState::Complete => "complete",
        PhaseState::Partial => "partial",
        PhaseState::Failed => "failed",
    }
}

fn counts(counts: Counts) -> String {
    let Counts { added, changed, removed, unchanged } = counts;
    let parts = [("+", added), ("~", changed), ("-", removed), ("=", unchanged)];
    let parts =
        parts.iter().filter(|(_, number)| *number > 0).map(|(sign, number)| format!("{sign}{}", count(*number)));
    parts.collect::<Vec<_>>().join(" ")
}

/// One line a reason, with the first places.
fn findings(phase: &PhaseReport, what: &str, listed: &[Finding]) -> String {
    let mut by_reason: BTreeMap<&str, Vec<&Finding>> = BTreeMap::new();
    for finding in listed {
        by_reason.entry(&finding.reason).or_default().push(finding);
    }
    let mut out = String::new();
    for (reason, found) in by_reason {
        // The list is bounded, the count isn't.
        let total = phase.read.counts.get(&format!("{what}:{reason}")).copied().unwrap_or(found.len() as u64);
        let place = |finding: &&Finding| match finding.detail.as_str() {
            "" => format!("    {}\n", plain(&finding.place)),
            detail => format!("    {}: {}\n", plain(&finding.place), sentence(detail)),
        };
        out += &format!(
            "{WARN}{what} {}{WARN:#} in {}: {}\n",
            plain(reason),
            plain(&phase.source),
            plural(total, "place")
        );
        out.extend(found.iter().take(PLACES_MAX).map(place));
        let left = total.saturating_sub(found.len().min(PLACES_MAX) as u64);
        if left > 0 {
            out += &format!("    {DIM}and {} more{DIM:#}\n", count(left));
        }
    }
    out
}
