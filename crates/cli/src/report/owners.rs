//! Who owns a thing, and what decided it.

use serde_json::Value;

use super::{caution, foot, head, raw, short, string};
use crate::table::{DIM, HEAD, plain};

/// The owners, and the rule.
pub(crate) fn owners(answer: &Value) -> String {
    let mut out = head(answer);
    let nodes: Vec<&Value> = answer["nodes"].as_array().into_iter().flatten().collect();
    for node in &nodes {
        out +=
            &format!("  {HEAD}{}{HEAD:#}{}\n", string(&node["label"]), caution(&node["trust"], node["stale"] == true));
    }
    let decided = &answer["decided_by"];
    let by = raw(&decided["by"]);
    if nodes.is_empty() {
        let why = if by == "unowned" { "a rule without an owner matches it last" } else { "no rule speaks of it" };
        out += &format!("  nobody: {why}\n");
    }
    let fields = decided["rule"].as_object().into_iter().flatten();
    let rule: Vec<String> = fields.map(|(name, value)| format!("{} {}", plain(name), short(value))).collect();
    out += &format!("{DIM}decided by: {by}");
    if !rule.is_empty() {
        out += &format!(" ({})", rule.join(", "));
    }
    if let Some(through) = decided["through"]["label"].as_str() {
        out += &format!(", through {} ({})", plain(through), string(&decided["through"]["kind"]));
    }
    out += &format!("{DIM:#}\n");
    out + &foot(answer)
}
