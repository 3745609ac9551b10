//! Finds the references in a serialised file.
//!
//! Unity's YAML is not YAML that a library reads (text after anchors, tags declared once, repeated keys), and nothing of
//! its structure is needed: a reference is known by its own shape. So the bytes are searched for the few places where
//! one can begin, and each is looked at by itself. A line is never held, so none is too long; nothing is decoded, so
//! bytes that are no text do no harm; nothing nests, so nothing recurses.
//!
//! 1. Every look is bounded or goes on where it ended, so the time is linear in the bytes, whatever they are.
//! 2. A reference that the end of the file cuts is a defect, not a reference.
//! 3. Where a GUID stands decides whether it is a reference: in a mapping beside a `fileID`, under a key known to refer,
//!    in the forms of assembly definitions, UI documents and shader graphs. Under a key that nobody knows it counts
//!    only if the project has that asset: sixteen bytes don't agree by chance.

use std::collections::{BTreeMap, BTreeSet};

use memchr::memmem::Finder;
use memchr::{memchr_iter, memmem};

use super::guid::{Digits, Guid};
use super::mapping::{Mapping, number};
use super::meta::BOM;
use crate::sources::Report;

/// How the references of a file are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Form {
    /// Unity's YAML: `{fileID: 2800000, guid: .., type: 3}`.
    Yaml,
    /// The meta beside an asset: the same, and its first column is about the asset itself.
    Meta,
    /// An assembly definition: `"GUID:.."`.
    Assembly,
    /// A UI document or style sheet: `project://database/..?fileID=..&amp;guid=..`.
    Markup,
    /// A shader graph: `\"guid\":\"..\"` in JSON within JSON.
    ShaderGraph,
}

/// What one file needs of one target.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Use {
    /// Which objects of the target: the least of them, see [`FILE_IDS_MAX`].
    pub(super) file_ids: BTreeSet<i64>,
    /// False where only an unknown key holds the GUID.
    pub(super) sure: bool,
    /// Where the first reference stands: file and line.
    pub(super) place: String,
}

/// What a file, or a meta and its body together, needs.
pub(super) type Uses = BTreeMap<Guid, Use>;

/// The most objects of one target that are remembered, least first.
const FILE_IDS_MAX: usize = 16;

/// A URL that does not end within this many bytes ends there.
const URL_BYTES_MAX: usize = 4_096;

/// The head of an object is looked for the word `stripped` this far.
const HEAD_BYTES_MAX: usize = 512;

/// Longer keys are cut: no known one is as long.
const KEY_BYTES_MAX: usize = 64;

/// Keys that hold the GUID of an asset as text.
const REFERRING: [(&str, &str); 8] = [
    ("m_SceneGUID", "refs:named:m_SceneGUID"),
    ("m_AssetGUID", "refs:named:m_AssetGUID"),
    ("m_SourceFontFileGUID", "refs:named:m_SourceFontFileGUID"),
    ("sourceFontFileGUID", "refs:named:sourceFontFileGUID"),
    ("m_ReferencedFontAssetGUID", "refs:named:m_ReferencedFontAssetGUID"),
    ("referencedFontAssetGUID", "refs:named:referencedFontAssetGUID"),
    ("m_ReferencedTextAssetGUID", "refs:named:m_ReferencedTextAssetGUID"),
    ("referencedTextAssetGUID", "refs:named:referencedTextAssetGUID"),
];

/// Keys that hold a GUID which is no asset's.
const NOT_REFERRING: [(&str, &str); 2] =
    [("productGUID", "refs:named:productGUID"), ("clonedFromGUID", "refs:named:clonedFromGUID")];

/// Finds the references in `bytes`, a file of that form at that path, and counts what it meets.
pub(super) fn scan(form: Form, bytes: &[u8], path: &str, targets_max: usize, uses: &mut Uses, report: &mut Report) {
    let mut scan = Scan { bytes, path, targets_max, uses, report, line: 1, counted: 0, full: false };
    match form {
        Form::Yaml => {
            scan.objects();
            scan.mappings("refs:flow");
            scan.keys(form);
        }
        Form::Meta => {
            scan.mappings("refs:flow:meta");
            scan.keys(form);
        }
        Form::Assembly => scan.assembly(),
        Form::Markup => scan.markup(),
        Form::ShaderGraph => scan.shader_graph(),
    }
}

struct Scan<'a> {
    bytes: &'a [u8],
    path: &'a str,
    targets_max: usize,
    uses: &'a mut Uses,
    report: &'a mut Report,
    /// The line of the byte at `counted`.
    line: u64,
    counted: usize,
    full: bool,
}

impl Scan<'_> {
    /// Counts the documents of a YAML file: `--- !u!114 &11400000 stripped`.
    fn objects(&mut self) {
        const HEAD: &[u8] = b"--- !u!";
        let (mut objects, mut stripped) = (0, 0);
        for at in memmem::find_iter(self.bytes, HEAD).filter(|at| *at == 0 || self.bytes[at - 1] == b'\n') {
            objects += 1;
            let head = &self.bytes[at..self.bytes.len().min(at + HEAD_BYTES_MAX)];
            let line = head.split(|byte| *byte == b'\n').next().unwrap_or(head);
            stripped += u64::from(line.trim_ascii_end().ends_with(b" stripped"));
        }
        self.add("yaml_objects", objects);
        self.add("stripped_objects", stripped);
    }

    /// Finds `{fileID: .., guid: .., type: ..}`, also over several lines.
    fn mappings(&mut self, counted_as: &'static str) {
        let (mut external, mut wrapped, mut local, mut null) = (0, 0, 0, 0);
        for open in memchr_iter(b'{', self.bytes) {
            match Mapping::read(&self.bytes[open + 1..]) {
                Mapping::External { guid, file_id, broken } => {
                    external += 1;
                    wrapped += u64::from(broken);
                    self.found(guid, file_id, true, open);
                }
                Mapping::Local => local += 1,
                Mapping::Null => null += 1,
                Mapping::Cut => self.cut(open),
                Mapping::Odd => {
                    let place = self.place(open);
                    let expected = "expected {fileID: number, guid: 32 hexadecimal digits, type: digit}, found other";
                    self.report.defect(place, "odd_reference", format!("{expected} values or an unclosed mapping"));
                }
                Mapping::Other => {}
            }
        }
        self.add(counted_as, external);
        self.add("refs:wrapped", wrapped);
        self.add("local_refs", local);
        self.add("null_refs", null);
    }

    /// Finds keys that end in `guid` and have a line to themselves: `guid: ..`, `m_AssetGUID: ..`.
    fn keys(&mut self, form: Form) {
        for tail in [b"uid:", b"UID:"] {
            for at in Finder::new(tail).find_iter(self.bytes) {
                let key = key_before(&self.bytes[..at + 3]);
                let start = at + 3 - key.len();
                let Some(indent) = indent_before(&self.bytes[..start]) else { continue };
                if form == Form::Meta && indent == 0 && key == b"guid" {
                    continue;
                }
                let value = skip_blanks(&self.bytes[at + 4..]);
                let value = value.strip_prefix(b"\"").or_else(|| value.strip_prefix(b"'")).unwrap_or(value);
                match Guid::begins(value) {
                    Digits::Guid(guid) if ends_line(&value[Guid::DIGITS..]) => self.key(key, guid, at),
                    Digits::Cut => self.cut(at),
                    Digits::Guid(_) | Digits::Other => {}
                }
            }
        }
    }

    fn key(&mut self, key: &[u8], guid: Guid, at: usize) {
        let named = |list: &[(&str, &'static str)]| {
            list.iter().find(|(name, _)| name.as_bytes() == key).map(|(_, counted_as)| *counted_as)
        };
        if key == b"guid" {
            self.add("refs:block", 1);
            self.found(guid, None, true, at);
        } else if let Some(counted_as) = named(&REFERRING) {
            self.add(counted_as, 1);
            self.found(guid, None, true, at);
        } else if let Some(counted_as) = named(&NOT_REFERRING) {
            self.add(counted_as, 1);
        } else {
            self.add("refs:named:other", 1);
            self.found(guid, None, false, at);
        }
    }

    fn assembly(&mut self) {
        for head in [&b"\"GUID:"[..], b"\"guid:"] {
            for at in memmem::find_iter(self.bytes, head) {
                self.digits(at + head.len(), None, "refs:asmdef");
            }
        }
    }

    fn markup(&mut self) {
        const HEAD: &[u8] = b"project://";
        let finder = Finder::new(HEAD);
        let mut from = 0;
        while let Some(found) = finder.find(&self.bytes[from..]) {
            let start = from + found + HEAD.len();
            let rest = &self.bytes[start..self.bytes.len().min(start + URL_BYTES_MAX)];
            let ends = |byte: &u8| byte.is_ascii_whitespace() || b"\"'()<>".contains(byte);
            let length = rest.iter().position(ends).unwrap_or(rest.len());
            from = start + length;
            let Some(guid) = parameter(&rest[..length], b"guid=") else { continue };
            let file_id = parameter(&rest[..length], b"fileID=").and_then(|at| number(&rest[at..length]));
            self.digits(start + guid, file_id, "refs:uxml");
        }
    }

    fn shader_graph(&mut self) {
        for at in memmem::find_iter(self.bytes, b"guid\\") {
            let quotes = |bytes: &[u8]| bytes.iter().take(32).take_while(|byte| b"\\\"".contains(byte)).count();
            let mut start = at + 4;
            start += quotes(&self.bytes[start..]);
            if self.bytes.get(start) != Some(&b':') {
                continue;
            }
            start += 1;
            start += usize::from(self.bytes.get(start) == Some(&b' '));
            start += quotes(&self.bytes[start..]);
            // Graphs name other things by a `guid` too, in other forms.
            if Guid::begins(&self.bytes[start..]) != Digits::Other {
                self.digits(start, None, "refs:shadergraph");
            }
        }
    }

    /// Takes the GUID at `at`, if one is there.
    fn digits(&mut self, at: usize, file_id: Option<i64>, counted_as: &'static str) {
        match Guid::begins(&self.bytes[at..]) {
            Digits::Guid(guid) => {
                self.add(counted_as, 1);
                self.found(guid, file_id, true, at);
            }
            Digits::Cut => self.cut(at),
            Digits::Other => {
                let place = self.place(at);
                self.report.defect(place, "odd_reference", "expected 32 hexadecimal digits");
            }
        }
    }

    fn found(&mut self, guid: Guid, file_id: Option<i64>, sure: bool, at: usize) {
        if guid == Guid::ZERO {
            return self.add("zero_guid_refs", 1);
        }
        if !self.uses.contains_key(&guid) {
            if self.uses.len() >= self.targets_max {
                return self.too_many();
            }
            let place = self.place(at);
            self.uses.insert(guid, Use { place, ..Use::default() });
        }
        let Some(used) = self.uses.get_mut(&guid) else { return };
        used.sure |= sure;
        if let Some(file_id) = file_id {
            used.file_ids.insert(file_id);
            if used.file_ids.len() > FILE_IDS_MAX {
                used.file_ids.pop_last();
            }
        }
    }

    fn too_many(&mut self) {
        if !self.full {
            self.full = true;
            let detail =
                format!("expected at most {} different targets; the further ones are left out", self.targets_max);
            self.report.defect(self.path, "too_many_targets", detail);
        }
    }

    fn cut(&mut self, at: usize) {
        let place = self.place(at);
        self.report.defect(place, "cut_reference", "expected a whole reference, found the end of the file");
    }

    /// File and line of the byte at `at`. Asked in rising order, it counts each line once.
    fn place(&mut self, at: usize) -> String {
        if at < self.counted {
            (self.line, self.counted) = (1, 0);
        }
        self.line += memchr_iter(b'\n', &self.bytes[self.counted..at]).count() as u64;
        self.counted = at;
        format!("{}:L{}", self.path, self.line)
    }

    fn add(&mut self, what: &'static str, count: u64) {
        if count > 0 {
            *self.report.counts.entry(what.into()).or_default() += count;
        }
    }
}

fn skip_blanks(bytes: &[u8]) -> &[u8] {
    let blanks = bytes.iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
    &bytes[blanks..]
}

/// The key that ends where `bytes` end.
fn key_before(bytes: &[u8]) -> &[u8] {
    let is_key = |byte: &&u8| byte.is_ascii_alphanumeric() || **byte == b'_';
    let length = bytes.iter().rev().take(KEY_BYTES_MAX).take_while(is_key).count();
    &bytes[bytes.len() - length..]
}

/// How far the end of `bytes` is indented, if only blanks and list dashes stand before it on its line.
fn indent_before(bytes: &[u8]) -> Option<usize> {
    let indent = bytes.iter().rev().take_while(|byte| matches!(byte, b' ' | b'\t' | b'-')).count();
    let before = &bytes[..bytes.len() - indent];
    (before.is_empty() || before.ends_with(b"\n") || before == BOM).then_some(indent)
}

/// Nothing but a closing quote, blanks or a comment stands before the line ends.
fn ends_line(bytes: &[u8]) -> bool {
    let bytes = bytes.strip_prefix(b"\"").or_else(|| bytes.strip_prefix(b"'")).unwrap_or(bytes);
    let after = skip_blanks(bytes);
    after.first().is_none_or(|byte| matches!(byte, b'\r' | b'\n') || (*byte == b'#' && after.len() < bytes.len()))
}

/// Where the value of a URL's parameter begins; `&` may be written `&amp;`.
fn parameter(url: &[u8], name: &[u8]) -> Option<usize> {
    let begins = |at: &usize| *at > 0 && b"?&;".contains(&url[at - 1]);
    memmem::find_iter(url, name).find(begins).map(|at| at + name.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: &str = "3e504a46a8fcec34db3c4776530c6eb2";
    const B: &str = "fe79948256c8b8e44a175b9ec97c6f07";

    fn scanned(form: Form, bytes: &[u8]) -> (Uses, Report) {
        let (mut uses, mut report) = (Uses::new(), Report::default());
        scan(form, bytes, "f", 3, &mut uses, &mut report);
        (uses, report)
    }

    /// `uses` is written as one word per target, `A` or `B` with its file ids and line, and `?` where it is not sure;
    /// `counts` holds all counts there are.
    fn check(form: Form, text: &str, uses: &str, counts: &[(&str, u64)]) {
        let text = text.replace("{A}", A).replace("{B}", B).replace("{a}", &A.to_uppercase());
        let (found, report) = scanned(form, text.as_bytes());
        let words = found.iter().map(|(guid, used)| {
            let letter = if guid.to_string() == A { "A" } else { "B" };
            let ids: Vec<String> = used.file_ids.iter().map(i64::to_string).collect();
            let unsure = if used.sure { "" } else { "?" };
            format!("{letter}{unsure}({}){}", ids.join(","), used.place.trim_start_matches('f'))
        });
        assert_eq!(words.collect::<Vec<_>>().join(" "), uses, "{text:?}");
        let counted: Vec<(&str, u64)> = report.counts.iter().map(|(what, count)| (&**what, *count)).collect();
        assert_eq!(counted, counts, "{text:?}");
    }

    /// Each row is a shape that was seen in a real project, or that a merge or an editor makes of one.
    #[test]
    fn yaml() {
        for (text, uses, counts) in [
            ("m: {fileID: 21, guid: {A}, type: 3}", "A(21):L1", &[("refs:flow", 1)][..]),
            (
                "a\nm: {fileID: -5795786491857714797, guid: {a}, type: 2}\n",
                "A(-5795786491857714797):L2",
                &[("refs:flow", 1)],
            ),
            ("- {fileID: 21, guid: {A},\n    type: 3}\n", "A(21):L1", &[("refs:flow", 1), ("refs:wrapped", 1)]),
            ("- {fileID: 21, guid: {A},\r\n    type: 3}\r\n", "A(21):L1", &[("refs:flow", 1), ("refs:wrapped", 1)]),
            ("- {fileID: 21,\n  guid: {A}, type: 3}\n", "A(21):L1", &[("refs:flow", 1), ("refs:wrapped", 1)]),
            (
                "- {fileID: 21,\n  guid: {A}\n}\n",
                "A(21):L1",
                &[("refs:block", 1), ("refs:flow", 1), ("refs:wrapped", 1)],
            ),
            ("- {guid: {A}, type: 3, fileID: 7}", "A(7):L1", &[("refs:flow", 1)]),
            ("- {fileID:21,guid:{A},type:3}", "A(21):L1", &[("refs:flow", 1)]),
            ("- {fileID: 21, guid: {A}}", "A(21):L1", &[("refs:flow", 1)]),
            ("- {fileID: 99999999999999999999, guid: {A}, type: 3}", "A():L1", &[("refs:flow", 1)]),
            (
                "{fileID: 9, guid: {A}, type: 3}\n{fileID: 2, guid: {A}, type: 3}{fileID: 9, guid: {B}, type: 3}",
                "A(2,9):L1 B(9):L2",
                &[("refs:flow", 3)],
            ),
            (
                "data:\n  t: {fileID: 1, guid: {A}, type: 3}\ndata:\n  t: {fileID: 1, guid: {B}, type: 3}\n",
                "A(1):L2 B(1):L4",
                &[("refs:flow", 2)],
            ),
            (
                "m: {fileID: 0}\nn: {fileID: 0 }\no: {fileID: 5}\np: {fileID: -5}",
                "",
                &[("local_refs", 2), ("null_refs", 2)],
            ),
            (
                "{fileID: 5, guid: 00000000000000000000000000000000, type: 0}",
                "",
                &[("refs:flow", 1), ("zero_guid_refs", 1)],
            ),
            ("m: {x: 0, y: 1}\nn: {}\no: {instanceID: 0}\np: {guidance: 1}\nq: {", "", &[]),
            (
                "--- !u!1 &1\n--- !u!4 &-2 stripped\r\n--- !u!114 &3 stripped\n a --- !u!1 &1\n---\n",
                "",
                &[("stripped_objects", 2), ("yaml_objects", 3)],
            ),
            ("- enabled: 1\n  path: A.unity\n  guid: {A}\n- guid: {B}\r\n", "A():L3 B():L4", &[("refs:block", 2)]),
            ("guid: '{A}'\nguid: \"{B}\" # why\n", "A():L1 B():L2", &[("refs:block", 2)]),
            ("guid: {A}, type: 3}\nguid: {A} more\ntext: guid: {A}\n//guid: {A}\nguid: {A}#\n", "", &[]),
            ("guid: 3e504a46-a8fc-ec34-db3c-4776530c6eb2\nguid: \nm_AssetGUID:\nm_GUID: none\n", "", &[]),
            (
                "m_AssetGUID: {A}\nm_SourceFontFileGUID: {B}\n",
                "A():L1 B():L2",
                &[("refs:named:m_AssetGUID", 1), ("refs:named:m_SourceFontFileGUID", 1)],
            ),
            (
                "  m_SceneGUID: 00000000000000000000000000000000\n",
                "",
                &[("refs:named:m_SceneGUID", 1), ("zero_guid_refs", 1)],
            ),
            (
                "  productGUID: {A}\n  clonedFromGUID: {B}\n",
                "",
                &[("refs:named:clonedFromGUID", 1), ("refs:named:productGUID", 1)],
            ),
            ("  questGuid: {A}\n  m_GUID: {B}\n", "A?():L1 B?():L2", &[("refs:named:other", 2)]),
            (
                "  questGuid: {A}\n  m: {fileID: 1, guid: {A}, type: 3}\n",
                "A(1):L2",
                &[("refs:flow", 1), ("refs:named:other", 1)],
            ),
            (
                "m: {fileID: 1, guid: {A}, type: 3}\nm: {fileID: 10302, guid: 0000000000",
                "A(1):L1",
                &[("defect:cut_reference", 1), ("refs:flow", 1)],
            ),
            ("m: {fileID: 1, guid: {A}", "", &[("defect:cut_reference", 1)]),
            ("m: {fileID", "", &[("defect:cut_reference", 1)]),
            ("m_AssetGUID: 3e504a", "", &[("defect:cut_reference", 1)]),
            ("m: {fileID: 1, guid: 3e504a, type: 3}\n", "", &[("defect:odd_reference", 1)]),
            ("m: {fileID: 1, guid: {A}, type: [3]\n", "", &[("defect:cut_reference", 1)]),
            ("m: {fileID: 1 2}\n", "", &[("defect:odd_reference", 1)]),
            (
                "m: {fileID: 1, {fileID: 2, guid: {A}, type: 3}\n",
                "A(2):L1",
                &[("defect:odd_reference", 1), ("refs:flow", 1)],
            ),
        ] {
            check(Form::Yaml, text, uses, counts);
        }
    }

    #[test]
    fn metas() {
        for (text, uses, counts) in [
            (
                "guid: {A}\nMonoImporter:\n  icon: {fileID: 28, guid: {B}, type: 3}\n",
                "B(28):L3",
                &[("refs:flow:meta", 1)][..],
            ),
            ("\u{feff}guid: {A}\n", "", &[]),
            ("guid: {A}\r\nScriptedImporter:\r\n  guid: {B}\r\n", "B():L3", &[("refs:block", 1)]),
        ] {
            check(Form::Meta, text, uses, counts);
        }
    }

    #[test]
    fn other_forms() {
        let odd = [("defect:odd_reference", 1)];
        for (form, text, uses, counts) in [
            (
                Form::Assembly,
                r#"["GUID:{A}", "guid:{b}", "Acme.Kit"]"#,
                "A():L1",
                &[("defect:odd_reference", 1), ("refs:asmdef", 1)][..],
            ),
            (Form::Assembly, r#"["GUID:{a}"]"#, "A():L1", &[("refs:asmdef", 1)]),
            (Form::Assembly, r#"["GUID:3e50"#, "", &[("defect:cut_reference", 1)]),
            (
                Form::Markup,
                "src=\"project://database/A%20b.uss?fileID=-74&amp;guid={A}&amp;type=3#A\"\n'project://database/b?guid={B}'",
                "A(-74):L1 B():L2",
                &[("refs:uxml", 2)],
            ),
            (Form::Markup, "url(project:/database/a?fileID=2&guid={A}) url(project://d?xguid={A})", "", &[]),
            (Form::Markup, "url(project://database/a?fileID=2&guid={A}&type=3)", "A(2):L1", &[("refs:uxml", 1)]),
            (Form::Markup, "guid={A} project://database/a &guid={B}", "", &[]),
            (Form::Markup, "project://database/a?guid=none", "", &odd),
            (
                Form::ShaderGraph,
                r#"{"t": "{\"texture\":{\"fileID\":28,\"guid\":\"{A}\",\"type\":3}}", "m_Guid": "x"}"#,
                "A():L1",
                &[("refs:shadergraph", 1)],
            ),
            (Form::ShaderGraph, r#""{\n \\\"guid\\\": \\\"{A}\\\"""#, "A():L1", &[("refs:shadergraph", 1)]),
            (Form::ShaderGraph, r#"\"guid\":\"4c4c-1\" \"guid\":\"\""#, "", &[]),
        ] {
            check(form, text, uses, counts);
        }
    }

    /// Evidence without a bound would make a megabyte of one relation to a large prefab.
    #[test]
    fn the_least_file_ids_are_kept() {
        let text: String = (0..40).rev().map(|id| format!("- {{fileID: {id}, guid: {A}, type: 3}}\n")).collect();
        let (uses, report) = scanned(Form::Yaml, text.as_bytes());
        let ids = &uses.values().next().unwrap().file_ids;
        assert!(ids.iter().copied().eq(0..16), "{ids:?}");
        assert_eq!(report.counts["refs:flow"], 40);
    }

    #[test]
    fn further_targets_are_left_out_and_reported_once() {
        let text: String =
            (1..10).map(|n| format!("guid: {n:032x}\nm: {{fileID: 1, guid: {n:032x}, type: 3}}\n")).collect();
        let (uses, report) = scanned(Form::Yaml, text.as_bytes());
        assert_eq!(uses.len(), 3);
        assert_eq!(report.counts["defect:too_many_targets"], 1);
    }

    /// A file made to be slow must cost what its bytes cost; a scan that looks at them again and again never ends here.
    #[test]
    fn hostile_files_take_linear_time() {
        let bytes_each = 4 << 20;
        let reference = format!("{{fileID: 1, guid: {A}, type: 3}}");
        for (form, piece) in [
            (Form::Yaml, "{fileID: "),
            (Form::Yaml, "{"),
            (Form::Yaml, "{fileID:\n"),
            (Form::Yaml, " - "),
            (Form::Yaml, "guid:"),
            (Form::Yaml, "      guid: "),
            (Form::Yaml, "--- !u!"),
            (Form::Yaml, "\n--- !u!"),
            (Form::Yaml, "\u{ffff}\0"),
            (Form::Markup, "project://"),
            (Form::Markup, "project://?guid="),
            (Form::Assembly, "\"GUID:"),
            (Form::ShaderGraph, "guid\\"),
        ] {
            let mut bytes = piece.repeat(bytes_each / piece.len()).into_bytes();
            bytes.extend_from_slice(format!("\n{reference}\n").as_bytes());
            let (uses, _) = scanned(form, &bytes);
            assert_eq!(uses.len(), usize::from(form == Form::Yaml), "{piece:?}");
        }
    }

    /// A mesh is one line of megabytes, and what stands after it counts as much as what stands before.
    #[test]
    fn a_reference_at_the_end_of_a_long_line() {
        let mut bytes = b"_typelessdata: ".to_vec();
        bytes.resize(300 << 10, b'f');
        bytes.extend_from_slice(format!(" {{fileID: 1, guid: {A}, type: 3}} \u{ff}").as_bytes());
        bytes.push(0xff);
        let (uses, _) = scanned(Form::Yaml, &bytes);
        assert_eq!(uses.values().next().unwrap().place, "f:L1");
    }
}
