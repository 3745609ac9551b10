//! `operations`: the table that every face reads.

use serde_json::{Value, json};
use triglyph::operations::{Operation, operation, operations};

use crate::args::OperationsArgs;
use crate::outcome::{Failure, Output};
use crate::table::{HEAD, text, wrapping};

pub(crate) fn list(args: &OperationsArgs) -> Result<Output, Failure> {
    if let Some(name) = &args.operation {
        return one(operation(name)?);
    }
    let mut rows = wrapping(&["operation", "effect", "what it answers"]);
    for operation in operations() {
        rows.add_row([operation.name, operation.effect.as_str(), operation.summary]);
    }
    let all: Vec<Value> = operations().iter().map(brief).collect();
    Output::new(&json!({ "operations": all }), text(&rows))
}

fn one(operation: &Operation) -> Result<Output, Failure> {
    let mut json = brief(operation);
    json["request_schema"] = operation.request_schema();
    json["answer_schema"] = operation.answer_schema();
    let mut rows = wrapping(&["field", "meaning"]);
    for (name, field) in json["request_schema"]["properties"].as_object().into_iter().flatten() {
        rows.add_row([name, field["description"].as_str().unwrap_or_default()]);
    }
    let Operation { name, effect, summary, example, .. } = operation;
    let effect = effect.as_str();
    let shown = format!("{HEAD}{name}{HEAD:#} ({effect}): {summary}\n\n{}\nExample: {example}\n", text(&rows));
    Output::new(&json, shown)
}

fn brief(operation: &Operation) -> Value {
    let Operation { name, effect, summary, example, .. } = operation;
    json!({ "name": name, "effect": effect, "summary": summary, "example": example })
}
