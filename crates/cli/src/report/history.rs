//! The states of an entity, each by what it changed.

use serde_json::{Map, Value};

use super::{foot, head, raw, short, shortened, string};
use crate::table::{DIM, plain, plural, sentence, text, wrapping};

/// One row a state: when, what happened, what was different from then on, and who says so.
pub(crate) fn history(answer: &Value) -> String {
    let mut rows = wrapping(&["from", "until", "event", "properties", "trust", "said by", "#sequence"]);
    let none = Map::new();
    let mut before: &Map<String, Value> = &none;
    let states: Vec<&Value> = answer["states"].as_array().into_iter().flatten().collect();
    for state in &states {
        let props = state["props"].as_object().unwrap_or(&none);
        let from = state["valid_from"].as_str().map_or("always", day);
        let seen = if state["observed"] == true { " (seen)" } else { "" };
        // A witness is source|group|record; the source is what tells people who speaks.
        let source = plain(raw(&state["witness"]).split('|').next().unwrap_or_default());
        let witness = match state["revision"].as_str() {
            Some(revision) => format!("{source} at {}", shortened(revision)),
            None => source,
        };
        let there = state["existence"] == "present";
        rows.add_row([
            format!("{from}{seen}"),
            day(raw(&state["valid_until"])).to_owned(),
            event(state),
            if there { changes(before, props) } else { String::new() },
            string(&state["trust"]),
            witness,
            state["seq"].to_string(),
        ]);
        before = props;
    }
    let length = plural(states.len() as u64, "state");
    format!("{}{}{DIM}{length}{DIM:#}\n{}", head(answer), text(&rows), foot(answer))
}

/// A time that is the beginning of a day as that day; any other whole, so that it can be asked for.
fn day(time: &str) -> &str {
    time.strip_suffix("T00:00:00.000000Z").unwrap_or(time)
}

fn event(state: &Value) -> String {
    let mut out = string(&state["event"]["event_type"]);
    if let Some(why) = state["event"]["event_description"].as_str() {
        out += &format!(": {}", sentence(why));
    }
    if state["commit_status"] != "committed" {
        out += &format!(" ({})", string(&state["commit_status"]));
    }
    out
}

/// `name value` for what is new, `name old → new` for what changed, `no name` for what is gone.
fn changes(before: &Map<String, Value>, after: &Map<String, Value>) -> String {
    let new = after.iter().filter(|(name, value)| before.get(*name) != Some(value)).map(|(name, value)| {
        let shown = plain(name);
        match before.get(name) {
            Some(old) => format!("{shown} {} → {}", short(old), short(value)),
            None => format!("{shown} {}", short(value)),
        }
    });
    let gone = before.keys().filter(|name| !after.contains_key(*name)).map(|name| format!("no {}", plain(name)));
    new.chain(gone).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_state_shows_what_it_changed() {
        let object = |value: Value| value.as_object().cloned().unwrap();
        let before = object(json!({ "name": "Hurt", "path": "a.cs", "line": 3 }));
        let after = object(json!({ "name": "ApplyDamage", "path": "a.cs", "tags": ["x"] }));
        assert_eq!(changes(&before, &after), "name Hurt → ApplyDamage\ntags [\"x\"]\nno line");
    }
}
