//! From the text of an ontology to an [`Ontology`], or to what is wrong with it and where.
//!
//! Every name is read with its place, so that a mistake is reported as `line 12, column 10` of the file that the person
//! has open. Tables are taken in the order types, relations, groups, rows: a row may name what the same file declares
//! further down.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use serde::Deserialize;
use toml::Spanned;

use super::{ANY, Kinds, Ontology, RelationType, Row, Type, Zone};
use crate::error::{Error, did_you_mean};
use crate::key::Name;

const SEEDS: [(&str, &str); 3] = [
    ("ontology/types.toml", include_str!("../../../ontology/types.toml")),
    ("ontology/relations.toml", include_str!("../../../ontology/relations.toml")),
    ("ontology/references.toml", include_str!("../../../ontology/references.toml")),
];

/// What the embedded files say.
pub(super) fn seeded() -> Result<Ontology, Error> {
    let mut ontology = Ontology {
        types: Vec::new(),
        relations: BTreeMap::new(),
        above: BTreeMap::new(),
        rows: Vec::new(),
        groups: BTreeMap::new(),
        everywhere: Vec::new(),
        identifying: Vec::new(),
    };
    for (label, text) in SEEDS {
        let place = Place { label, text };
        let tables = place.parse()?;
        ontology.everywhere.extend(tables.everywhere.iter().map(name));
        ontology.identifying.extend(tables.identifying.iter().map(name));
        ontology.add(place, tables)?;
    }
    Ok(ontology)
}

/// `base` and what `text` adds.
pub(super) fn extended(base: &Ontology, text: &str) -> Result<Ontology, Error> {
    let place = Place { label: "ontology", text };
    let tables = place.parse()?;
    if let Some(first) = tables.everywhere.first().or(tables.identifying.first()) {
        let message = "the properties of all types are Triglyph's; expected `mutable` or `identifying` of a [[type]]";
        return Err(place.refuse(first.span(), message));
    }
    let mut ontology = base.clone();
    ontology.add(place, tables)?;
    Ok(ontology)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Tables {
    #[serde(default)]
    everywhere: Vec<Spanned<String>>,
    #[serde(default)]
    identifying: Vec<Spanned<String>>,
    #[serde(default, rename = "type")]
    types: Vec<TypeTable>,
    #[serde(default, rename = "relation")]
    relations: Vec<RelationTable>,
    #[serde(default)]
    groups: BTreeMap<Spanned<String>, Vec<Spanned<String>>>,
    #[serde(default, rename = "reference")]
    references: Vec<ReferenceTable>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TypeTable {
    name: Spanned<String>,
    zone: Spanned<Zone>,
    ptype: Option<Spanned<String>>,
    #[serde(default)]
    immutable: Vec<Spanned<String>>,
    #[serde(default)]
    mutable: Vec<Spanned<String>>,
    #[serde(default)]
    identifying: Vec<Spanned<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RelationTable {
    name: Spanned<String>,
    parent: Option<Spanned<String>>,
    #[serde(default)]
    symmetric: bool,
    sentence: String,
    #[serde(default)]
    opaque: bool,
    #[serde(default)]
    structural: bool,
    written_by: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ReferenceTable {
    sources: Spanned<Vec<Spanned<String>>>,
    relations: Spanned<Vec<Spanned<String>>>,
    targets: Spanned<Vec<Spanned<String>>>,
}

/// The file that is being read, for messages.
#[derive(Clone, Copy)]
struct Place<'a> {
    label: &'a str,
    text: &'a str,
}

impl Place<'_> {
    fn parse(self) -> Result<Tables, Error> {
        toml::from_str(self.text).map_err(|error| self.refuse(error.span().unwrap_or(0..0), error.message()))
    }

    fn refuse(self, span: Range<usize>, message: impl std::fmt::Display) -> Error {
        let before = self.text.get(..span.start).unwrap_or(self.text);
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        Error::invalid(format!("{} line {line}, column {column}: {message}", self.label))
    }

    /// The names of a list, each once and each well-formed.
    fn names(self, list: &[Spanned<String>], shape: Shape) -> Result<Vec<Name>, Error> {
        self.once(list)?;
        list.iter().map(|word| self.name(word, shape)).collect()
    }

    fn once(self, list: &[Spanned<String>]) -> Result<(), Error> {
        let mut seen = BTreeSet::new();
        match list.iter().find(|word| !seen.insert(word.get_ref())) {
            Some(word) => Err(self.refuse(word.span(), format!("{:?} stands twice in this list", word.get_ref()))),
            None => Ok(()),
        }
    }

    fn name(self, word: &Spanned<String>, shape: Shape) -> Result<Name, Error> {
        if shape.holds(word.get_ref()) {
            return Ok(name(word));
        }
        Err(self.refuse(word.span(), format!("{:?} found; expected {}", word.get_ref(), shape.describe())))
    }
}

/// What a name may look like. A colon is left to the names that projections meet undeclared (M-11).
#[derive(Clone, Copy)]
enum Shape {
    Kind,
    Relation,
    Word,
}

impl Shape {
    fn holds(self, text: &str) -> bool {
        let starts = |c: char| match self {
            Shape::Kind => c.is_alphabetic(),
            Shape::Relation => c.is_ascii_uppercase(),
            Shape::Word => c.is_ascii_lowercase(),
        };
        let goes_on = |c: char| match self {
            Shape::Kind => c.is_alphanumeric() || c == '_' || c == '-',
            Shape::Relation => c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_',
            Shape::Word => c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_',
        };
        text != ANY && text.starts_with(starts) && text.chars().all(goes_on)
    }

    fn describe(self) -> &'static str {
        match self {
            Shape::Kind => "a type name: a letter, then letters, digits, `_` or `-` (`any` is taken)",
            Shape::Relation => "a relation type in capitals, as DEPENDS_ON",
            Shape::Word => "a word in small letters, as head_revision (`any` is taken)",
        }
    }
}

fn name(word: &Spanned<String>) -> Name {
    word.get_ref().as_str().into()
}

impl Ontology {
    fn add(&mut self, place: Place<'_>, tables: Tables) -> Result<(), Error> {
        for table in &tables.types {
            self.add_type(place, table)?;
        }
        self.types.sort_by(|a, b| (a.zone, &a.ptype, &a.name).cmp(&(b.zone, &b.ptype, &b.name)));
        for table in &tables.relations {
            self.add_relation(place, table)?;
        }
        for table in &tables.relations {
            self.climb(place, table)?;
        }
        for (word, members) in &tables.groups {
            self.add_group(place, word, members)?;
        }
        for table in &tables.references {
            let sources = self.kinds_of(place, &table.sources)?;
            let relations = self.relations_of(place, &table.relations)?;
            let targets = self.kinds_of(place, &table.targets)?;
            self.rows.push(Row { sources, relations, targets });
        }
        Ok(())
    }

    fn add_type(&mut self, place: Place<'_>, table: &TypeTable) -> Result<(), Error> {
        let name = place.name(&table.name, Shape::Kind)?;
        if self.kind(&name).is_some() {
            return Err(
                place.refuse(table.name.span(), format!("type {name} is declared already; choose another name"))
            );
        }
        let ptype = table.ptype.as_ref().map(|word| place.name(word, Shape::Word)).transpose()?;
        match (*table.zone.get_ref(), &ptype) {
            (Zone::Project, None) => {
                let message = format!("type {name} is of the project zone; expected the `ptype` of its projects");
                return Err(place.refuse(table.zone.span(), message));
            }
            (Zone::System, Some(ptype)) => {
                let message = format!("type {name} is of the system zone, which has no ptype; {ptype:?} found");
                return Err(place.refuse(table.zone.span(), message));
            }
            _ => {}
        }
        let immutable_props = place.names(&table.immutable, Shape::Word)?;
        let mut mutable_props = self.everywhere.clone();
        mutable_props.retain(|property| !immutable_props.contains(property));
        for (property, word) in place.names(&table.mutable, Shape::Word)?.into_iter().zip(&table.mutable) {
            if immutable_props.contains(&property) || mutable_props.contains(&property) {
                let message = format!("type {name} has the property {property:?} already; say it once");
                return Err(place.refuse(word.span(), message));
            }
            mutable_props.push(property);
        }
        let mut identifying = self.identifying.clone();
        for (property, word) in place.names(&table.identifying, Shape::Word)?.into_iter().zip(&table.identifying) {
            if !immutable_props.contains(&property) && !mutable_props.contains(&property) {
                let known = immutable_props.iter().chain(&mutable_props).map(|name| &**name);
                let hint = did_you_mean(&property, known);
                let message = format!("type {name} has no property {property:?} that could identify it{hint}");
                return Err(place.refuse(word.span(), message));
            }
            if !identifying.contains(&property) {
                identifying.push(property);
            }
        }
        self.types.push(Type { zone: *table.zone.get_ref(), name, ptype, immutable_props, mutable_props, identifying });
        Ok(())
    }

    fn add_relation(&mut self, place: Place<'_>, table: &RelationTable) -> Result<(), Error> {
        let name = place.name(&table.name, Shape::Relation)?;
        if self.relations.contains_key(&name) {
            let message = format!("relation type {name} is declared already; choose another name");
            return Err(place.refuse(table.name.span(), message));
        }
        let relation = RelationType {
            name: name.clone(),
            parent: table.parent.as_ref().map(self::name),
            symmetric: table.symmetric,
            sentence: table.sentence.as_str().into(),
            opaque: table.opaque,
            structural: table.structural,
            written_by: table.written_by.as_deref().map(Name::from),
        };
        self.relations.insert(name, relation);
        Ok(())
    }

    /// Notes what stands above a relation type.
    fn climb(&mut self, place: Place<'_>, table: &RelationTable) -> Result<(), Error> {
        let Some(word) = &table.parent else { return Ok(()) };
        let start = name(&table.name);
        let mut chain = vec![start.clone()];
        let mut above = Vec::new();
        let mut opaque = false;
        let mut next = Some(name(word));
        while let Some(parent) = next {
            if chain.contains(&parent) {
                chain.push(parent);
                let circle: Vec<&str> = chain.iter().map(|name| &**name).collect();
                let message = format!("parents run in a circle: {}; leave one of them out", circle.join(" → "));
                return Err(place.refuse(word.span(), message));
            }
            let Some(relation) = self.relations.get(&parent) else {
                let hint = did_you_mean(&parent, self.relations.keys().map(|name| &**name));
                let message = format!("relation type {start} has the parent {parent}, which nobody declares{hint}");
                return Err(place.refuse(word.span(), message));
            };
            if let Some(reason) = unwritable(relation) {
                return Err(place.refuse(word.span(), format!("{parent} can't be a parent: {reason}")));
            }
            if !opaque {
                above.push(parent.clone());
            }
            opaque |= relation.opaque;
            next = relation.parent.clone();
            chain.push(parent);
        }
        self.above.insert(start, above);
        Ok(())
    }

    fn add_group(
        &mut self,
        place: Place<'_>,
        word: &Spanned<String>,
        members: &[Spanned<String>],
    ) -> Result<(), Error> {
        let group = place.name(word, Shape::Word)?;
        if self.groups.contains_key(&group) {
            return Err(place.refuse(word.span(), format!("group {group} is declared already; choose another name")));
        }
        if let Some(member) = members.iter().find(|m| !self.is_declared(m.get_ref())) {
            let known = self.types.iter().map(|kind| &kind.name).chain(self.relations.keys()).map(|name| &**name);
            let hint = did_you_mean(member.get_ref(), known);
            let message = format!("group {group} lists {:?}, which nobody declares{hint}", member.get_ref());
            return Err(place.refuse(member.span(), message));
        }
        place.once(members)?;
        self.groups.insert(group, members.iter().map(name).collect());
        Ok(())
    }

    fn is_declared(&self, name: &str) -> bool {
        self.kind(name).is_some() || self.relations.contains_key(name)
    }

    fn kinds_of(&self, place: Place<'_>, list: &Spanned<Vec<Spanned<String>>>) -> Result<Kinds, Error> {
        if let [word] = list.get_ref().as_slice()
            && word.get_ref() == ANY
        {
            return Ok(Kinds::Any);
        }
        let names = self.spelt_out(place, list)?;
        for (name, span) in &names {
            if self.kind(name).is_none() {
                let known = self.types.iter().map(|kind| &*kind.name).chain(self.groups.keys().map(|name| &**name));
                let hint = did_you_mean(name, known);
                let message = format!("no type or group {name}; expected `any` alone, or names of them{hint}");
                return Err(place.refuse(span.clone(), message));
            }
        }
        Ok(Kinds::These(names.into_iter().map(|(name, _)| name).collect()))
    }

    fn relations_of(&self, place: Place<'_>, list: &Spanned<Vec<Spanned<String>>>) -> Result<Vec<Name>, Error> {
        let names = self.spelt_out(place, list)?;
        for (name, span) in &names {
            let Some(relation) = self.relations.get(name) else {
                let known = self.relations.keys().chain(self.groups.keys()).map(|name| &**name);
                let hint = did_you_mean(name, known);
                return Err(place.refuse(span.clone(), format!("no relation type or group {name}{hint}")));
            };
            if let Some(reason) = unwritable(relation) {
                return Err(place.refuse(span.clone(), format!("{name} can't be authored: {reason}")));
            }
        }
        Ok(names.into_iter().map(|(name, _)| name).collect())
    }

    /// A list with its groups replaced by what they hold, each name with the place where it, or its group, stands.
    fn spelt_out(
        &self,
        place: Place<'_>,
        list: &Spanned<Vec<Spanned<String>>>,
    ) -> Result<Vec<(Name, Range<usize>)>, Error> {
        let mut names: Vec<(Name, Range<usize>)> = Vec::new();
        for word in list.get_ref() {
            let single = [name(word)];
            for name in self.groups.get(word.get_ref().as_str()).map_or(&single[..], |group| group) {
                if names.iter().any(|(other, _)| other == name) {
                    return Err(place.refuse(word.span(), format!("{name} stands twice in this list")));
                }
                names.push((name.clone(), word.span()));
            }
        }
        if names.is_empty() {
            return Err(place.refuse(list.span(), "an empty list allows nothing; name a type, or leave the row out"));
        }
        Ok(names)
    }
}

/// Why nobody may author a relation of this type, if so.
fn unwritable(relation: &RelationType) -> Option<String> {
    match &relation.written_by {
        Some(operation) => Some(format!("only the operation `{operation}` writes it")),
        None => relation.structural.then(|| "it names the structure of the layers".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Code;

    /// A person who extends the ontology gets it wrong first; a message without place, name and likely word would send
    /// them to the source.
    #[test]
    fn mistakes_are_named_with_their_place() {
        let table: &[(&str, &str)] = &[
            ("[[type]]\nname = ", "ontology line 2, column 8"),
            ("[[typ]]\nname = 'X'", "unknown field `typ`, expected one of"),
            (
                "[[type]]\nname = 'ADR'\nzone = 'project'\nptype = 'studio'",
                "ontology line 2, column 8: type ADR is declared already; choose another name",
            ),
            ("[[type]]\nname = 'Level'\nzone = 'project'", "expected the `ptype` of its projects"),
            ("[[type]]\nname = 'Level'\nzone = 'system'\nptype = 'studio'", "the system zone, which has no ptype"),
            ("[[type]]\nname = 'Level'\nzone = 'studio'", "unknown variant `studio`, expected `system` or `project`"),
            ("[[type]]\nname = 'any'\nzone = 'system'", "`any` is taken"),
            ("[[type]]\nname = 'a:b'\nzone = 'system'", "line 2, column 8: \"a:b\" found; expected a type name"),
            (
                "[[type]]\nname = 'Level'\nzone = 'system'\nmutable = ['time', 'time']",
                "line 4, column 20: \"time\" stands twice",
            ),
            ("[[type]]\nname = 'Level'\nzone = 'system'\nmutable = ['title']", "has the property \"title\" already"),
            (
                "[[type]]\nname = 'Level'\nzone = 'system'\nimmutable = ['code']\nidentifying = ['coed']",
                "no property \"coed\" that could identify it; did you mean \"code\"?",
            ),
            ("everywhere = ['colour']", "ontology line 1, column 15: the properties of all types are Triglyph's"),
            (
                "[[relation]]\nname = 'REFINES'\nparent = 'EXTEND'\nsentence = ''",
                "line 3, column 10: relation type REFINES has the parent EXTEND, which nobody declares; \
                 did you mean \"EXTENDS\"?",
            ),
            (
                "[[relation]]\nname = 'CALLS'\nsentence = ''",
                "relation type CALLS is declared already; choose another name",
            ),
            ("[[relation]]\nname = 'refines'\nsentence = ''", "expected a relation type in capitals"),
            (
                "[[relation]]\nname = 'EQUALS'\nparent = 'SAME_AS'\nsentence = ''",
                "SAME_AS can't be a parent: only the \
             operation `confirm_identity` writes it",
            ),
            (
                "[[relation]]\nname = 'A'\nparent = 'B'\nsentence = ''\n\
                 [[relation]]\nname = 'B'\nparent = 'A'\nopaque = true\nsentence = ''",
                "line 3, column 10: parents run in a circle: A → B → A",
            ),
            ("[groups]\nfamily = ['ADR']", "ontology line 2, column 1: group family is declared already"),
            ("[groups]\nart = ['File', 'File']", "ontology line 2, column 16: \"File\" stands twice in this list"),
            ("[groups]\nart = ['UnityAsset', 'Texure']", "group art lists \"Texure\", which nobody declares"),
            (
                "[[reference]]\nsources = ['Tikcet']\nrelations = ['BLOCKS']\ntargets = ['any']",
                "line 2, column 12: no type or group Tikcet; expected `any` alone, or names of them; \
                 did you mean \"Ticket\"?",
            ),
            (
                "[[reference]]\nsources = ['Ticket']\nrelations = ['BLOKS']\ntargets = ['any']",
                "no relation type or group BLOKS; did you mean \"BLOCKS\"?",
            ),
            (
                "[[reference]]\nsources = ['Ticket']\nrelations = ['SAME_AS']\ntargets = ['Ticket']",
                "SAME_AS can't be authored: only the operation `confirm_identity` writes it",
            ),
            (
                "[[reference]]\nsources = ['Ticket']\nrelations = ['HAS_STATE']\ntargets = ['Ticket']",
                "HAS_STATE can't be authored: it names the structure of the layers",
            ),
            (
                "[[reference]]\nsources = []\nrelations = ['BLOCKS']\ntargets = ['Ticket']",
                "line 2, column 11: an empty list allows nothing",
            ),
            (
                "[[reference]]\nsources = ['documents', 'ADR']\nrelations = ['BLOCKS']\ntargets = ['Ticket']",
                "ADR stands twice in this list",
            ),
            ("[[reference]]\nsources = ['Ticket']\nrelations = ['BLOCKS']", "missing field `targets`"),
        ];
        for (text, expected) in table {
            let error = Ontology::seeded().extended(text).expect_err(text);
            assert_eq!(error.code(), Code::Invalid, "{text}");
            assert!(error.message().contains(expected), "{text}\nexpected {expected}\nfound {}", error.message());
        }
    }

    /// A triple declared by two rows would outlive the removal of either.
    #[test]
    fn the_embedded_files_say_nothing_twice() {
        let ontology = seeded().unwrap();
        let mut triples = BTreeSet::new();
        let all = [Name::from(ANY)];
        let list = |kinds: &Kinds| match kinds {
            Kinds::Any => all.to_vec(),
            Kinds::These(names) => names.clone(),
        };
        for row in &ontology.rows {
            for source in list(&row.sources) {
                for relation in &row.relations {
                    for target in list(&row.targets) {
                        let triple = (source.clone(), relation.clone(), target);
                        assert!(triples.insert(triple.clone()), "{triple:?} is declared by two rows");
                    }
                }
            }
        }
    }
}
