//! The table of domain patterns: one row an operation.
//!
//! A row is a small automaton. An entity of the answer is in a state; from it, the steps of the state match. So a row
//! can say that a *changed* file reaches into the symbols that it holds, while a file merely *affected* does not. A free
//! step costs no depth: a file and the asset it is the body of are one thing to a person who asks.
//!
//! Adding an operation takes a row here and a test.

/// One operation.
#[derive(Debug)]
pub struct Row {
    /// The name of the operation.
    pub operation: &'static str,
    /// What it answers, in one sentence.
    pub summary: &'static str,
    /// The kinds that it can be asked about, each with its first state; empty for any kind, in state 0.
    pub subjects: &'static [(&'static str, usize)],
    /// The depth where a request names none.
    pub depth: u32,
    /// Whether answers are ranked by path strength.
    pub ranked: bool,
    /// The states, each with its steps.
    pub states: &'static [&'static [Pattern]],
}

/// A step: relations of these types, read this way, to entities of these kinds.
#[derive(Debug)]
pub struct Pattern {
    /// Read along the relation; else against it.
    pub out: bool,
    /// The relation types, subtypes included.
    pub types: &'static [&'static str],
    /// The kinds at the far end; any when empty.
    pub kinds: &'static [&'static str],
    /// The state at the far end.
    pub to: usize,
    /// Whether it costs no depth.
    pub free: bool,
}

const fn along(types: &'static [&'static str], kinds: &'static [&'static str], to: usize) -> Pattern {
    Pattern { out: true, types, kinds, to, free: false }
}

const fn against(types: &'static [&'static str], kinds: &'static [&'static str], to: usize) -> Pattern {
    Pattern { out: false, types, kinds, to, free: false }
}

const fn free(pattern: Pattern) -> Pattern {
    Pattern { free: true, ..pattern }
}

/// A file is imported as an asset: the bridge from code and depots to assets.
const IMPORTED: Pattern = along(&["IMPORTED_AS"], &["UnityAsset"], 0);

const CODE: &[&str] = &["File", "Symbol"];

// States of `change_blast_radius`.
const CHANGED: usize = 0;
const AFFECTED_CODE: usize = 1;
const AFFECTED_FILE: usize = 2;
const ASSET: usize = 3;
const BUILT: usize = 4;
const CHANGESET: usize = 5;
const END: usize = 6;

/// Every domain operation that is a pattern.
pub static ROWS: [&Row; 2] = [&ASSET_CONSUMERS, &CHANGE_BLAST_RADIUS];

/// What uses an asset.
pub static ASSET_CONSUMERS: Row = Row {
    operation: "asset_consumers",
    summary: "Everything that depends on an asset, transitively, by reverse dependency.",
    subjects: &[("UnityAsset", 0), ("File", 0), ("DepotFile", 0)],
    depth: 8,
    ranked: false,
    states: &[&[against(&["DEPENDS_ON"], &[], 0), free(IMPORTED)]],
};

/// What a change can reach.
pub static CHANGE_BLAST_RADIUS: Row = Row {
    operation: "change_blast_radius",
    summary: "Code, assets, builds, deployments and owners that a change can reach, strongest path first.",
    subjects: &[
        ("File", CHANGED),
        ("Symbol", CHANGED),
        ("DepotFile", CHANGED),
        ("UnityAsset", ASSET),
        ("Commit", CHANGESET),
        ("Change", CHANGESET),
        ("Ticket", CHANGESET),
    ],
    depth: 8,
    ranked: true,
    states: &[
        // CHANGED: a file or symbol that is itself changed, and what it holds.
        &[
            along(&["CONTAINS"], &["Symbol"], CHANGED),
            against(&["DEPENDS_ON"], CODE, AFFECTED_CODE),
            against(&["CONTAINS"], &["File", "Symbol"], AFFECTED_FILE),
            free(along(&["IMPORTED_AS"], &["UnityAsset"], ASSET)),
            against(&["CONSUMED"], &["Run", "Build"], BUILT),
            against(&["OWNS"], &["Owner"], END),
        ],
        // AFFECTED_CODE: code that depends on it, and so on; not the rest of the file that holds it.
        &[
            against(&["DEPENDS_ON"], CODE, AFFECTED_CODE),
            against(&["CONTAINS"], &["File", "Symbol"], AFFECTED_FILE),
            free(along(&["IMPORTED_AS"], &["UnityAsset"], ASSET)),
            against(&["OWNS"], &["Owner"], END),
        ],
        // AFFECTED_FILE: what holds affected code; its asset is affected, its other contents are not.
        &[
            against(&["CONTAINS"], &["File", "Symbol"], AFFECTED_FILE),
            free(along(&["IMPORTED_AS"], &["UnityAsset"], ASSET)),
            against(&["OWNS"], &["Owner"], END),
        ],
        // ASSET: what uses it, and what it is built into.
        &[
            against(&["DEPENDS_ON"], &[], ASSET),
            against(&["CONTAINS", "CONSUMED"], &["Build", "Artifact"], BUILT),
            against(&["OWNS"], &["Owner"], END),
        ],
        // BUILT: the builds around it, and where they are deployed.
        &[
            against(&["CONTAINS", "CONSUMED", "DEPENDS_ON"], &["Build", "Artifact"], BUILT),
            along(&["PRODUCED"], &["Artifact", "Build"], BUILT),
            against(&["DEPLOYS"], &["Deployment"], END),
            against(&["OWNS"], &["Owner"], END),
        ],
        // CHANGESET: what it modifies, and the changes that implement it.
        &[
            along(&["MODIFIES"], &["File", "DepotFile"], CHANGED),
            along(&["MODIFIES"], &["UnityAsset"], ASSET),
            against(&["PART_OF"], &["Commit"], CHANGESET),
            against(&["IMPLEMENTS", "RESOLVES", "REQUESTED_BY"], &["Change", "Commit"], CHANGESET),
            against(&["OWNS"], &["Owner"], END),
        ],
        // END
        &[],
    ],
};

/// The row of an operation.
pub fn row(operation: &str) -> Option<&'static Row> {
    ROWS.into_iter().find(|row| row.operation == operation)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::ontology::Ontology;

    /// A misspelt type in a row would match nothing, and the answer would be silently poorer.
    #[test]
    fn every_name_is_declared() {
        let ontology = Ontology::seeded();
        for row in ROWS {
            for (kind, state) in row.subjects {
                assert!(ontology.kind(kind).is_some(), "{}: {kind}", row.operation);
                assert!(*state < row.states.len());
            }
            for pattern in row.states.iter().flat_map(|steps| steps.iter()) {
                assert!(pattern.to < row.states.len());
                for name in pattern.types {
                    assert!(ontology.relation(name).is_some(), "{}: {name}", row.operation);
                }
                for name in pattern.kinds {
                    assert!(ontology.kind(name).is_some(), "{}: {name}", row.operation);
                }
            }
        }
    }
}
