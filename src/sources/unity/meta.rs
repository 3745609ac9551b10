//! The `.meta` file beside every asset and folder: which GUID it has and who imports it.
//!
//! Only keys in the first column are read. What the importer's settings refer to is found by the scan, as in any other
//! serialised file.
//!
//! 1. The first `guid:` is the asset's own, whatever follows; another one is reported.
//! 2. The zero GUID and the built-in ones name no asset: a meta that claims one has none.

use memchr::memchr;

use super::guid::Guid;

/// A byte order mark, which some editors write.
pub(super) const BOM: &[u8] = b"\xef\xbb\xbf";

/// What a meta says about its asset.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Meta {
    /// The asset's GUID, if a usable one is given.
    pub(super) guid: Option<Guid>,
    /// What stands after the first `guid:`, cut short, where it is no usable GUID.
    pub(super) odd_guid: Option<String>,
    /// A second GUID that differs from the first: what a merge conflict leaves.
    pub(super) other_guid: Option<Guid>,
    /// The asset is a folder.
    pub(super) folder: bool,
    /// The importer: `TextureImporter`.
    pub(super) importer: Option<String>,
    /// The file begins with a byte order mark.
    pub(super) bom: bool,
    /// The file has lines that end in CR LF.
    pub(super) crlf: bool,
}

/// Longer importer names are not remembered.
const IMPORTER_BYTES_MAX: usize = 64;

impl Meta {
    /// Reads a meta.
    pub(super) fn read(bytes: &[u8]) -> Meta {
        let mut meta = Meta { bom: bytes.starts_with(BOM), ..Meta::default() };
        let mut rest = bytes.strip_prefix(BOM).unwrap_or(bytes);
        let mut named = false;
        while !rest.is_empty() {
            let end = memchr(b'\n', rest).unwrap_or(rest.len());
            let line = &rest[..end];
            rest = rest.get(end + 1..).unwrap_or_default();
            meta.crlf |= line.ends_with(b"\r");
            if let Some(value) = line.strip_prefix(b"guid:") {
                meta.guid_line(value.trim_ascii(), named);
                named = true;
            } else if let Some(value) = line.strip_prefix(b"folderAsset:") {
                meta.folder |= value.trim_ascii() == b"yes";
            } else if meta.importer.is_none() {
                meta.importer = importer(line.trim_ascii_end());
            }
        }
        meta
    }

    fn guid_line(&mut self, value: &[u8], named: bool) {
        let guid = Guid::parse(value).filter(|guid| *guid != Guid::ZERO && guid.builtin().is_none());
        if !named {
            self.guid = guid;
            if guid.is_none() {
                self.odd_guid = Some(String::from_utf8_lossy(&value[..value.len().min(40)]).into_owned());
            }
        } else if guid != self.guid && self.other_guid.is_none() {
            self.other_guid = guid;
        }
    }
}

/// The importer that a line in the first column names: every importer's name ends alike.
fn importer(line: &[u8]) -> Option<String> {
    let name = line.strip_suffix(b":")?;
    let fits = name.len() <= IMPORTER_BYTES_MAX
        && name.ends_with(b"Importer")
        && name.iter().all(|byte| byte.is_ascii_alphanumeric());
    fits.then(|| String::from_utf8_lossy(name).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: &str = "6d113040314b4578b93a6f140f064f09";
    const B: &str = "93da7c478a4839f4bb567e0861eb2f24";

    fn guid(text: &str) -> Option<Guid> {
        Guid::parse(text.as_bytes())
    }

    /// A meta that is misread loses an asset and everything that was known to depend on it.
    #[test]
    fn metas_as_editors_and_merges_leave_them() {
        let plain = Meta { guid: guid(A), ..Meta::default() };
        for (text, expected) in [
            (format!("fileFormatVersion: 2\nguid: {A}\n"), plain.clone()),
            (format!("fileFormatVersion: 2\nguid: {A}"), plain.clone()),
            (format!("fileFormatVersion: 2\nguid: {}\n", A.to_uppercase()), plain.clone()),
            (format!("\u{feff}fileFormatVersion: 2\nguid: {A}"), Meta { bom: true, ..plain.clone() }),
            (format!("\u{feff}guid: {A}"), Meta { bom: true, ..plain.clone() }),
            (format!("fileFormatVersion: 2\r\nguid: {A}\r\n"), Meta { crlf: true, ..plain.clone() }),
            (
                format!("guid: {A}\nfolderAsset: yes\nDefaultImporter:\n  userData: \n"),
                Meta { folder: true, importer: Some("DefaultImporter".into()), ..plain.clone() },
            ),
            (format!("guid: {A}\nguid: {A}\n"), plain.clone()),
            (
                format!("<<<<<<< ours\nguid: {A}\n=======\nguid: {B}\n>>>>>>> theirs\n"),
                Meta { other_guid: guid(B), ..plain.clone() },
            ),
            (
                format!("MonoImporter:\n  guid: {B}\n"),
                Meta { importer: Some("MonoImporter".into()), ..Meta::default() },
            ),
            ("fileFormatVersion: 2\n".into(), Meta::default()),
            (String::new(), Meta::default()),
            ("guid: 6d11".into(), Meta { odd_guid: Some("6d11".into()), ..Meta::default() }),
            ("guid:\n".into(), Meta { odd_guid: Some(String::new()), ..Meta::default() }),
            (
                "guid: 0000000000000000f000000000000000\n".into(),
                Meta { odd_guid: Some("0000000000000000f000000000000000".into()), ..Meta::default() },
            ),
            (
                "guid: 00000000000000000000000000000000\n".into(),
                Meta { odd_guid: Some("0".repeat(32)), ..Meta::default() },
            ),
        ] {
            assert_eq!(Meta::read(text.as_bytes()), expected, "{text:?}");
        }
    }

    #[test]
    fn bytes_that_are_no_text_are_no_meta() {
        assert_eq!(Meta::read(b"\xff\xfe\0g\0u\0i\0d"), Meta::default());
    }
}
