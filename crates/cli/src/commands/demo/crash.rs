//! A process that is killed while it commits, and what its store holds afterwards.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use triglyph::{Durability, Options, Props, Scope, Store, Value};

use super::stage::Verdict;
use crate::args::{Global, StoreArgs};
use crate::outcome::{Failure, Output};
use crate::place::Place;

/// How many commits are acknowledged before the process is killed.
const ACKNOWLEDGED: usize = 25;

/// Commits one entity after another, and says each sequence once it is durable. Ends when it is killed, or when nobody
/// reads what it says.
pub(crate) fn write_until_killed(args: &StoreArgs, global: &Global) -> Result<Output, Failure> {
    let place = Place::open(&args.store, global)?;
    let graph = match place.find(global)? {
        (_, Some(graph)) => graph,
        (scope, None) => place.store.graph(&scope)?,
    };
    let mut out = std::io::stdout().lock();
    loop {
        let mut batch = graph.batch()?;
        batch.entity("Project", Props::from([("name".into(), Value::from("written while it was killed"))]));
        let committed = graph.commit(batch, Durability::Sync)?;
        writeln!(out, "{}", committed.seq)?;
        out.flush()?;
    }
}

/// Has another process write, kills it amid its commits, opens the store again and counts.
pub(super) fn crash(path: &Path, scope: &Scope) -> Verdict {
    let said = |what: &str, error: &dyn std::fmt::Display| format!("{what}: {error}");
    let store = Store::open(path, Options::default()).map_err(|error| said("opening the store", &error))?;
    store.graph(scope).map_err(|error| said("making the scope", &error))?;
    drop(store);
    let program = std::env::current_exe().map_err(|error| said("finding this program", &error))?;
    let mut child = Command::new(program)
        .arg("write-until-killed")
        .arg(path)
        .args(["--scope", &scope.to_string()])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| said("starting another process", &error))?;
    let mut lines = BufReader::new(child.stdout.take().ok_or("the other process has no output")?).lines();
    let mut acknowledged = 0;
    for line in lines.by_ref().take(ACKNOWLEDGED) {
        acknowledged = sequence(line).unwrap_or(acknowledged);
    }
    child.kill().map_err(|error| said("killing it", &error))?;
    // What it had said before it died counts too.
    acknowledged = lines.filter_map(sequence).max().unwrap_or(acknowledged);
    child.wait().map_err(|error| said("waiting for its end", &error))?;

    let open = || Store::open(path, Options::default())?.existing(scope);
    let graph = open().map_err(|error| said("opening the store again", &error))?;
    let held = graph.view().seq().0;
    let torn = match &graph.recovery().torn {
        Some(torn) => format!("{} bytes of an unfinished one are left aside", torn.bytes),
        None => "none was cut short".to_owned(),
    };
    if (acknowledged as usize) < ACKNOWLEDGED || held < acknowledged {
        return Err(format!("{acknowledged} commits were acknowledged, {held} are there"));
    }
    // Whoever comes after a crash can write.
    let mut batch = graph.batch().map_err(|error| error.to_string())?;
    batch.entity("Project", Props::from([("name".into(), Value::from("written after the crash"))]));
    let after = graph.commit(batch, Durability::Sync).map_err(|error| said("writing after the crash", &error))?;
    Ok(format!("{acknowledged} commits were acknowledged, {held} are there, {torn}; the next one is {}", after.seq))
}

fn sequence(line: std::io::Result<String>) -> Option<u64> {
    line.ok()?.parse().ok()
}
