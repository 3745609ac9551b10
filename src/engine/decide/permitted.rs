//! What the ontology lets an author write, and how a refusal says what would be right.

use super::Desk;
use crate::error::{Code, Error, did_you_mean};
use crate::key::Name;

impl Desk<'_> {
    /// Refuses a relation that an author may not write between these types.
    pub(super) fn allowed(&self, source: &Name, kind: &Name, target: &Name) -> Result<(), Error> {
        let ontology = &self.engine.ontology;
        if ontology.relation(kind).is_none() {
            let known = ontology.relations().map(|relation| &*relation.name);
            let message = format!("no relation type {kind:?} is declared{}", did_you_mean(kind, known));
            return Err(Error::invalid(message).with_details(serde_json::json!({ "type": kind })));
        }
        if !ontology.can_reference(source, kind, target) {
            let allowed = ontology.allowed(source, target);
            let list = if allowed.is_empty() { "none".to_owned() } else { allowed.join(", ") };
            let message =
                format!("{source} {kind} {target} is not allowed; from {source} to {target} are allowed: {list}");
            return Err(Error::new(Code::ReferenceNotAllowed, message)
                .with_details(serde_json::json!({ "source": source, "target": target, "allowed": allowed })));
        }
        Ok(())
    }

    /// Nobody declares a type of that name.
    pub(super) fn undeclared_kind(&self, kind: &Name) -> Error {
        let message = format!("no type {kind:?} is declared{}", self.engine.ontology.nearest_kind(kind));
        Error::invalid(message).with_details(serde_json::json!({ "type": kind }))
    }
}
