//! What kinds of things there are, how they may relate, and who may say so: the canonical layer's types.
//!
//! An ontology is data: three tables (`[[type]]`, `[[relation]]`, `[[reference]]`) in the files under `ontology/`, which
//! the build embeds, and in a file of the user's that adds to them. Once read it never changes; a graph holds it in an
//! [`Arc`]. Names that nobody declared are legal in a projection (M-11): every question has an answer for them.
//!
//! 1. A name is declared once; a user's file adds and never replaces.
//! 2. Parents are declared and make no circle. A type matches what is asked of itself and of all above it, up to and
//!    including the first `opaque` one.
//! 3. No row of CAN_REFERENCE names a type that is structural or has a writer of its own (M-15).

mod read;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::{Arc, LazyLock};

use serde::Serialize;

use crate::error::{Error, did_you_mean};
use crate::key::Name;

/// In a row of CAN_REFERENCE: every type, declared or not.
pub(crate) const ANY: &str = "any";

/// The declared types of entities and relations, and the references that authors may write.
#[derive(Clone, Debug)]
pub(crate) struct Ontology {
    /// Sorted by zone, ptype, name.
    types: Vec<Type>,
    relations: BTreeMap<Name, RelationType>,
    /// What each relation type matches besides itself, nearest first.
    above: BTreeMap<Name, Vec<Name>>,
    rows: Vec<Row>,
    /// Short names for lists of types, usable in rows.
    groups: BTreeMap<Name, Vec<Name>>,
    /// Mutable properties of every type.
    everywhere: Vec<Name>,
    /// Identifying properties of every type, declared or not.
    identifying: Vec<Name>,
}

/// A type of entities.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, schemars::JsonSchema)]
pub(crate) struct Type {
    /// Where it applies.
    pub(crate) zone: Zone,
    /// Its name, the `kind` of its entities.
    pub(crate) name: Name,
    /// The sort of project that has it; `None` in the system zone.
    pub(crate) ptype: Option<Name>,
    /// Properties that are given when an entity is made, and stay.
    pub(crate) immutable_props: Vec<Name>,
    /// Properties that may differ from state to state.
    pub(crate) mutable_props: Vec<Name>,
    /// Properties whose values are names of the entity (S-4).
    pub(crate) identifying: Vec<Name>,
}

impl Type {
    /// Whether an authored entity of this type may have the property.
    pub(crate) fn declares(&self, property: &str) -> bool {
        self.is_immutable(property) || self.mutable_props.iter().any(|name| *name == property)
    }

    /// Whether the property stays as it was when the entity was made.
    pub(crate) fn is_immutable(&self, property: &str) -> bool {
        self.immutable_props.iter().any(|name| *name == property)
    }

    /// Every declared property, immutable ones first.
    pub(crate) fn properties(&self) -> impl Iterator<Item = &Name> {
        self.immutable_props.iter().chain(&self.mutable_props)
    }
}

/// Where a type applies.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, serde::Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Zone {
    /// In every scope.
    System,
    /// In scopes of the type's `ptype`.
    Project,
}

impl Zone {
    /// The zone's name.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Zone::System => "system",
            Zone::Project => "project",
        }
    }
}

/// A type of relations.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, schemars::JsonSchema)]
pub(crate) struct RelationType {
    /// Its name: `DEPENDS_ON`.
    pub(crate) name: Name,
    /// The type whose queries it matches too.
    pub(crate) parent: Option<Name>,
    /// Whether it says the same from either end.
    pub(crate) symmetric: bool,
    /// What it says of its source and target.
    pub(crate) sentence: Name,
    /// Whether types below it match queries for it alone, and not for its own parent.
    pub(crate) opaque: bool,
    /// Whether it names the structure of the layers, so that nobody writes it as a relation.
    pub(crate) structural: bool,
    /// The one operation that writes it, where it can't be authored as a reference.
    pub(crate) written_by: Option<Name>,
}

/// A row of CAN_REFERENCE: every combination of its lists.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Row {
    sources: Kinds,
    relations: Vec<Name>,
    targets: Kinds,
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum Kinds {
    Any,
    These(Vec<Name>),
}

impl Kinds {
    fn holds(&self, kind: &str) -> bool {
        match self {
            Kinds::Any => true,
            Kinds::These(names) => names.iter().any(|name| *name == kind),
        }
    }

    fn join(&self) -> String {
        match self {
            Kinds::Any => ANY.to_owned(),
            Kinds::These(names) => join(names),
        }
    }
}

impl Ontology {
    /// The ontology that Triglyph comes with.
    pub(crate) fn seeded() -> Arc<Ontology> {
        static SEEDED: LazyLock<Arc<Ontology>> = LazyLock::new(|| {
            // The files are part of the build, and a test reads them.
            Arc::new(read::seeded().unwrap_or_else(|error| panic!("the embedded ontology is damaged: {error}")))
        });
        SEEDED.clone()
    }

    /// This ontology and what `toml` adds: the same three tables, in one file.
    ///
    /// # Errors
    /// With line and column: where the text isn't TOML, holds another key, declares a name again, or names a type that
    /// nobody declares.
    pub(crate) fn extended(&self, toml: &str) -> Result<Ontology, Error> {
        read::extended(self, toml)
    }

    /// The declared type of that name.
    pub(crate) fn kind(&self, name: &str) -> Option<&Type> {
        self.types.iter().find(|kind| kind.name == name)
    }

    /// Every declared type of entities, by zone, ptype and name.
    pub(crate) fn kinds(&self) -> impl Iterator<Item = &Type> {
        self.types.iter()
    }

    /// `; did you mean "…"?` for a kind that nobody declares, where a declared one is near.
    pub(crate) fn nearest_kind(&self, name: &str) -> String {
        did_you_mean(name, self.types.iter().map(|kind| &*kind.name))
    }

    /// The properties whose values name an entity of that kind (S-4); a kind that nobody declares has the general ones.
    pub(crate) fn identifying(&self, kind: &str) -> &[Name] {
        self.kind(kind).map_or(&self.identifying, |kind| &kind.identifying)
    }

    /// The declared relation type of that name.
    pub(crate) fn relation(&self, name: &str) -> Option<&RelationType> {
        self.relations.get(name)
    }

    /// Every declared relation type, by name.
    pub(crate) fn relations(&self) -> impl Iterator<Item = &RelationType> {
        self.relations.values()
    }

    /// Whether a relation of type `kind` matches a query for `asked`: the same, or below it (invariant 2).
    pub(crate) fn is_a(&self, kind: &str, asked: &str) -> bool {
        kind == asked || self.above.get(kind).is_some_and(|above| above.iter().any(|name| *name == asked))
    }

    /// The relation types that match a query for `name`: itself and all below it, sorted.
    #[cfg(test)]
    fn descendants<'a>(&'a self, name: &'a str) -> Vec<&'a str> {
        let below = self.above.iter().filter(|(_, above)| above.iter().any(|above| *above == name));
        let mut found: Vec<&str> = below.map(|(below, _)| &**below).collect();
        found.push(name);
        found.sort_unstable();
        found
    }

    /// Whether the relation type says the same from either end, so that its ends stand in canonical order.
    pub(crate) fn symmetric(&self, relation: &str) -> bool {
        self.relations.get(relation).is_some_and(|relation| relation.symmetric)
    }

    /// The relation types that an author may write from one kind to another, sorted.
    pub(crate) fn allowed(&self, source_kind: &str, target_kind: &str) -> Vec<&str> {
        let rows = self.rows.iter().filter(|row| row.sources.holds(source_kind) && row.targets.holds(target_kind));
        let mut found: Vec<&str> = rows.flat_map(|row| row.relations.iter().map(|name| &**name)).collect();
        found.sort_unstable();
        found.dedup();
        found
    }

    /// Whether an author may write `source RELATION target`, by their types: whether a row says just that.
    ///
    /// A row for a type says nothing of the types below it: a Ticket may REFERENCE a SPEC, and not FORMALIZE it.
    pub(crate) fn can_reference(&self, source: &str, relation: &str, target: &str) -> bool {
        self.rows.iter().any(|row| {
            row.relations.iter().any(|name| *name == relation) && row.sources.holds(source) && row.targets.holds(target)
        })
    }

    /// The three tables for people, as a section of `docs/operations.md`.
    pub(crate) fn to_markdown(&self) -> String {
        let mut out = String::from("### Types\n\n");
        writeln!(out, "Every type also takes {}.\n", join(&self.everywhere)).expect("a string takes any text");
        out.push_str(
            "| zone | ptype | type | immutable | mutable | identifying |\n| --- | --- | --- | --- | --- | --- |\n",
        );
        for kind in &self.types {
            let own: Vec<Name> =
                kind.mutable_props.iter().filter(|name| !self.everywhere.contains(name)).cloned().collect();
            row(
                &mut out,
                [
                    kind.zone.as_str(),
                    kind.ptype.as_deref().unwrap_or("–"),
                    &kind.name,
                    &join(&kind.immutable_props),
                    &join(&own),
                    &join(&kind.identifying),
                ],
            );
        }
        out.push_str(
            "\n### Relation types\n\n| type | source TYPE target | parent | remarks |\n| --- | --- | --- | --- |\n",
        );
        for relation in self.relations.values() {
            row(
                &mut out,
                [&relation.name, &relation.sentence, relation.parent.as_deref().unwrap_or("–"), &relation.remarks()],
            );
        }
        out.push_str("\n### CAN_REFERENCE\n\n| source | relation | target |\n| --- | --- | --- |\n");
        for Row { sources, relations, targets } in &self.rows {
            row(&mut out, [&sources.join(), &join(relations), &targets.join()]);
        }
        out
    }
}

impl RelationType {
    fn remarks(&self) -> String {
        let mut remarks = Vec::new();
        if self.symmetric {
            remarks.push("symmetric".to_owned());
        }
        if self.opaque {
            remarks.push("types below it don't match its parent".to_owned());
        }
        if self.structural {
            remarks.push("structure, never written as a relation".to_owned());
        }
        if let Some(operation) = &self.written_by {
            remarks.push(format!("only by `{operation}`"));
        }
        remarks.join("; ")
    }
}

fn join(names: &[Name]) -> String {
    names.iter().map(|name| &**name).collect::<Vec<_>>().join(", ")
}

fn row<const N: usize>(out: &mut String, cells: [&str; N]) {
    writeln!(out, "| {} |", cells.join(" | ")).expect("a string takes any text");
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Hosts list and count the seeded types; one that went missing would make its entities undeclared overnight.
    #[test]
    fn the_seeded_types_are_all_there() {
        let ontology = Ontology::seeded();
        let names = |ptype: Option<&str>| -> Vec<&str> {
            ontology.kinds().filter(|kind| kind.ptype.as_deref() == ptype).map(|kind| &*kind.name).collect()
        };
        assert_eq!(names(None), ["Persona", "Project", "Session"]);
        assert_eq!(
            names(Some("application")),
            ["ADR", "Component", "Delta", "EnvVar", "Journal", "Location", "Mode", "Plan", "Retro", "SPEC", "TODO"]
        );
        let studio = "File Symbol Module Ticket DepotFile UnityAsset Workflow Run Stage Checkpoint Artifact Build \
                      Deployment Incident Validation Commit Change Owner Decision Agent Capability Tool Permission \
                      Model Environment";
        let mut studio: Vec<&str> = studio.split_whitespace().collect();
        studio.sort_unstable();
        assert_eq!(names(Some("studio")), studio);
        assert_eq!((ontology.kinds().count(), ontology.relations().count()), (39, 59));
        assert!(ontology.kinds().all(|kind| (kind.zone == Zone::System) == kind.ptype.is_none()));
        assert!(ontology.kinds().all(|kind| kind.declares("name") && kind.declares("status")));
    }

    /// A query for a parent that missed a subtype would call bounded evidence complete; one that matched too much would
    /// count every function call as a reference between documents.
    #[test]
    fn subtypes_match_what_lies_above_them_up_to_the_opaque() {
        let ontology = Ontology::seeded();
        let table = [
            ("METHOD", "CONTAINS", true),
            ("CONTAINS", "METHOD", false),
            ("AMENDS", "REFERENCES", true),
            ("REQUESTED_BY", "REFERENCES", true),
            ("DEPENDS_ON", "REFERENCES", true),
            ("CALLS", "DEPENDS_ON", true),
            ("CALLS", "REFERENCES", false),
            ("CALLS", "CALLS", true),
            ("MENTIONS", "REFERENCES", false),
            ("graphify:requires_env", "REFERENCES", false),
            ("graphify:requires_env", "graphify:requires_env", true),
        ];
        for (kind, asked, expected) in table {
            assert_eq!(ontology.is_a(kind, asked), expected, "{kind} is a {asked}");
            assert_eq!(ontology.descendants(asked).contains(&kind), expected, "{kind} is below {asked}");
        }
        let family = "AMENDS DEPENDS_ON DOCUMENTS EXTENDS FORMALIZES IMPLEMENTS REFERENCES RELATES_TO REQUESTED_BY \
                      RESOLVES SPECIFIES SUPERSEDES";
        assert_eq!(ontology.descendants("REFERENCES").join(" "), family);
        assert_eq!(ontology.descendants("CONTAINS"), ["CASE_OF", "CONTAINS", "DECLARES", "DEFINES", "METHOD"]);
        assert_eq!(ontology.descendants("graphify:cites"), ["graphify:cites"]);
    }

    /// An author who may write too little gives up; one who may write too much fills the graph with nonsense.
    #[test]
    fn authors_may_write_what_the_rows_say() {
        let ontology = Ontology::seeded();
        let table: [(&str, &str, &[&str]); 12] = [
            ("Ticket", "SPEC", &["DOCUMENTS", "IMPLEMENTS", "MENTIONS", "REFERENCES", "RESOLVES"]),
            ("Run", "Decision", &["DOCUMENTS", "IMPLEMENTS", "REFERENCES", "RESOLVES"]),
            ("Run", "Ticket", &["IMPLEMENTS", "REQUESTED_BY", "RESOLVES"]),
            ("Ticket", "Ticket", &["BLOCKS", "DUPLICATES", "MENTIONS", "PARENT_OF", "RELATES_TO"]),
            ("Owner", "File", &["OWNS"]),
            ("Symbol", "Owner", &[]),
            ("Artifact", "Artifact", &["DEPENDS_ON", "DERIVED_FROM"]),
            ("Agent", "Permission", &["GRANTED"]),
            ("Persona", "Project", &[]),
            ("Incident", "graphify:rationale", &["MENTIONS"]),
            ("UnityAsset", "dataset", &["DERIVED_FROM"]),
            ("dataset", "UnityAsset", &[]),
        ];
        for (source, target, expected) in table {
            assert_eq!(ontology.allowed(source, target), expected, "{source} to {target}");
            for relation in ontology.relations() {
                let found = ontology.can_reference(source, &relation.name, target);
                assert_eq!(found, expected.contains(&&*relation.name), "{source} {} {target}", relation.name);
            }
        }
        // Document types, Decision and Component: the whole family among each other.
        for source in ["ADR", "Retro", "Decision", "Component"] {
            for target in ["SPEC", "TODO", "Component"] {
                let family = ontology.descendants("REFERENCES");
                let found = ontology.allowed(source, target);
                assert!(family.iter().all(|relation| found.contains(relation)), "{source} to {target}: {found:?}");
                assert!(!found.contains(&"CALLS") && !found.contains(&"SAME_AS"), "{source} to {target}: {found:?}");
            }
        }
    }

    /// Two rows for one symmetric relation would double every count; a property without a rule could be anything.
    #[test]
    fn flags_and_properties_are_as_declared() {
        let ontology = Ontology::seeded();
        let symmetric: Vec<&str> = ontology.relations().filter(|r| r.symmetric).map(|r| &*r.name).collect();
        assert_eq!(symmetric, ["DUPLICATES", "RELATES_TO", "SAME_AS", "SIMILAR_TO"]);
        assert!(ontology.symmetric("RELATES_TO") && !ontology.symmetric("BLOCKS") && !ontology.symmetric("nothing"));
        let structural: Vec<&str> = ontology.relations().filter(|r| r.structural).map(|r| &*r.name).collect();
        assert_eq!(structural, ["CAN_REFERENCE", "HAS_STATE", "INSTANCE_OF", "SUPERSEDED_BY"]);

        let project = ontology.kind("Project").unwrap();
        assert!(project.is_immutable("pid") && !project.is_immutable("name") && !project.declares("guid"));
        assert_eq!(ontology.identifying("ADR"), ["name", "title", "pid", "fqdn", "path", "key", "slug"]);
        assert_eq!(ontology.identifying("dataset"), ["name", "title", "pid", "fqdn", "path"]);
        assert_eq!(ontology.nearest_kind("Unityasset"), "; did you mean \"UnityAsset\"?");
        for kind in ontology.kinds() {
            let distinct: std::collections::BTreeSet<&Name> = kind.properties().collect();
            assert_eq!(distinct.len(), kind.properties().count(), "{}", kind.name);
        }
    }

    /// What a user adds must work like what is seeded, and leave the seeded alone.
    #[test]
    fn a_file_of_the_user_adds_types_relations_and_rows() {
        let seeded = Ontology::seeded();
        let ours = seeded
            .extended(
                r#"
                [groups]
                places = ["Level", "Location"]
                [[reference]]
                sources = ["places"]
                relations = ["LEADS_TO", "REFERENCES"]
                targets = ["places", "documents"]
                [[relation]]
                name = "LEADS_TO"
                parent = "DEPENDS_ON"
                sentence = "has a way to"
                [[type]]
                name = "Level"
                zone = "project"
                ptype = "studio"
                immutable = ["title"]
                mutable = ["par_time", "codename"]
                identifying = ["codename"]
                "#,
            )
            .unwrap();
        assert_eq!(ours.allowed("Level", "Location"), ["LEADS_TO", "REFERENCES"]);
        assert!(ours.is_a("LEADS_TO", "DEPENDS_ON") && !ours.is_a("LEADS_TO", "REFERENCES"));
        let level = ours.kind("Level").unwrap();
        assert!(level.is_immutable("title") && level.declares("status"));
        assert_eq!(ours.identifying("Level").last().unwrap(), "codename");
        let names: Vec<&str> = ours.kinds().map(|kind| &*kind.name).collect();
        assert_eq!(names.iter().position(|name| *name == "Level").map(|i| names[i - 1]), Some("Incident"));
        assert!(seeded.kind("Level").is_none() && seeded.relation("LEADS_TO").is_none());
        assert!(ours.extended("").unwrap().kind("Level").is_some());
    }

    /// The document would be wrong without a sign if a table missed a row.
    #[test]
    fn the_document_names_everything() {
        let ontology = Ontology::seeded();
        let text = ontology.to_markdown();
        for name in ontology.kinds().map(|kind| &kind.name).chain(ontology.relations().map(|relation| &relation.name)) {
            assert!(text.contains(&format!("| {name} |")), "{name} is missing");
        }
        assert!(text.contains("| CALLS | calls it | DEPENDS_ON |  |"));
        assert!(text.contains("| Owner | OWNS | File, DepotFile, UnityAsset, Module, Ticket, Component |"));
        assert!(text.lines().all(|line| !line.starts_with('|') || line.ends_with('|')));
    }
}
