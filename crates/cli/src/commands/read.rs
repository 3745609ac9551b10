//! The reads: `op`, `walk`, `history`, `status`, `digest`.
//!
//! Each makes the request that a program would make, so that `--json` prints what `call` prints. People get one line a
//! path; since lines alone don't know their trust, the answer behind them is the full one.

use std::path::Path;

use clap::ValueEnum;
use serde_json::{Map, Value, json};
use triglyph::operations::operation;

use crate::args::{BoundArgs, Detail, Global, HistoryArgs, LookArgs, OpArgs, StatusArgs, StoreArgs, WalkArgs};
use crate::outcome::{Failure, Output};
use crate::place::Place;
use crate::report;

type Request = Map<String, Value>;

pub(crate) fn op(args: &OpArgs, global: &Global) -> Result<Output, Failure> {
    let mut request = Request::new();
    request.insert("subject".into(), json!(args.subject));
    args.look.add_to(&mut request);
    if args.operation == "owner" {
        if let Some(flag) = args.bounds.given().next() {
            return Err(Failure::Usage(format!(
                "owner takes no {flag}: it lists the owners of one thing; --depth, --nodes, --edges, --fan-out and \
                 --detail are for the other questions"
            )));
        }
        return ask(&args.store, global, "owner", request, report::owners::owners);
    }
    args.bounds.add_to(&mut request);
    expansion(&args.store, global, &args.operation, request, args.bounds.detail)
}

pub(crate) fn walk(args: &WalkArgs, global: &Global) -> Result<Output, Failure> {
    let mut request = Request::new();
    if let Some((first, further)) = args.subjects.split_first() {
        request.insert("subject".into(), json!(first));
        request.insert("subjects".into(), json!(further));
    }
    let direction = args.direction.as_ref().map(word);
    add(&mut request, "direction", direction);
    request.insert("types".into(), json!(args.types));
    request.insert("kinds".into(), json!(args.kinds));
    args.look.add_to(&mut request);
    args.bounds.add_to(&mut request);
    expansion(&args.store, global, "walk", request, args.bounds.detail)
}

pub(crate) fn history(args: &HistoryArgs, global: &Global) -> Result<Output, Failure> {
    let mut request = Request::new();
    request.insert("subject".into(), json!(args.subject));
    add(&mut request, "limit", args.limit);
    add(&mut request, "cursor", args.cursor.as_ref());
    args.look.add_to(&mut request);
    ask(&args.store, global, "history", request, report::history::history)
}

pub(crate) fn status(args: &StatusArgs, global: &Global) -> Result<Output, Failure> {
    let mut request = Request::new();
    args.look.add_to(&mut request);
    ask(&args.store, global, "status", request, report::status::status)
}

pub(crate) fn digest(args: &StoreArgs, global: &Global) -> Result<Output, Failure> {
    ask(&args.store, global, "digest", Request::new(), report::status::digest)
}

fn expansion(
    store: &Path,
    global: &Global,
    operation: &str,
    mut request: Request,
    detail: Option<Detail>,
) -> Result<Output, Failure> {
    let detail = detail.unwrap_or(Detail::Lines);
    let show = match detail {
        Detail::Ids => report::expansion::ids,
        Detail::Lines => report::expansion::lines,
        Detail::Full => report::expansion::full,
    };
    let asked = if detail == Detail::Lines && !global.json { Detail::Full } else { detail };
    request.insert("detail".into(), json!(word(&asked)));
    ask(store, global, operation, request, show)
}

fn ask(
    store: &Path,
    global: &Global,
    name: &str,
    request: Request,
    show: fn(&Value) -> String,
) -> Result<Output, Failure> {
    let graph = Place::open(store, global)?.reading(global)?;
    let answer = operation(name)?.call(&graph, Value::Object(request), &|| false)?;
    let shown = if global.json { String::new() } else { show(&answer) };
    Ok(Output { json: answer, shown, failed: false })
}

fn add(request: &mut Request, field: &str, value: Option<impl serde::Serialize>) {
    if let Some(value) = value {
        request.insert(field.into(), json!(value));
    }
}

fn word(value: &impl ValueEnum) -> String {
    value.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
}

impl BoundArgs {
    /// The flags that were typed.
    fn given(&self) -> impl Iterator<Item = &'static str> {
        let BoundArgs { depth, nodes, edges, fan_out, detail } = self;
        let flags = [
            ("--depth", depth.is_some()),
            ("--nodes", nodes.is_some()),
            ("--edges", edges.is_some()),
            ("--fan-out", fan_out.is_some()),
            ("--detail", detail.is_some()),
        ];
        flags.into_iter().filter(|(_, given)| *given).map(|(flag, _)| flag)
    }

    /// The fields that were typed; `detail` is the caller's matter.
    fn add_to(&self, request: &mut Request) {
        add(request, "depth", self.depth);
        let mut budgets = Request::new();
        add(&mut budgets, "nodes", self.nodes);
        add(&mut budgets, "edges", self.edges);
        add(&mut budgets, "fan_out", self.fan_out);
        if !budgets.is_empty() {
            request.insert("budgets".into(), Value::Object(budgets));
        }
    }
}

impl LookArgs {
    fn add_to(&self, request: &mut Request) {
        add(request, "as_of", self.as_of);
        add(request, "as_recorded", self.as_recorded);
        add(request, "revision", self.revision.as_ref());
        add(request, "trust_floor", self.trust.as_ref().map(word));
        if self.investigation {
            request.insert("investigation".into(), json!(true));
        }
    }
}
