//! One flow mapping of Unity's YAML: `{fileID: 2800000, guid: .., type: 3}`.
//!
//! It is read key by key, in any order, over line breaks, without decoding. Only the first key decides whether it is
//! looked at further, so the many mappings that hold vectors and colours cost a glance.

use super::guid::Guid;

/// What stands behind an opening brace.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Mapping {
    /// A reference to an object of another file.
    External { guid: Guid, file_id: Option<i64>, broken: bool },
    /// A reference to an object of the same file.
    Local,
    /// A reference to nothing.
    Null,
    /// A reference that the end of the file cuts.
    Cut,
    /// A reference with values that are none.
    Odd,
    /// No reference.
    Other,
}

/// A mapping that does not end within this many bytes is none. Real ones take about 80, and a break.
const BYTES_MAX: usize = 512;

impl Mapping {
    /// Reads a mapping, from behind its opening brace, in any order of its keys.
    pub(super) fn read(after_brace: &[u8]) -> Mapping {
        let mut rest = &after_brace[..after_brace.len().min(BYTES_MAX)];
        let is_whole_file = rest.len() == after_brace.len();
        let begins = rest.trim_ascii_start();
        if !begins.starts_with(b"fileID") && !begins.starts_with(b"guid") {
            return Mapping::Other;
        }
        let (mut file_id, mut guid, mut broken) = (None, None, false);
        let unfinished = |is_end: bool| if is_end && is_whole_file { Mapping::Cut } else { Mapping::Odd };
        loop {
            rest = skip_space(rest, &mut broken);
            let key = word(rest);
            rest = skip_space(&rest[key.len()..], &mut broken);
            let Some(value) = rest.strip_prefix(b":") else { return unfinished(rest.is_empty()) };
            rest = skip_space(value, &mut broken);
            let value = scalar(rest);
            rest = skip_space(&rest[value.len()..], &mut broken);
            match key {
                b"fileID" => file_id = Some(value),
                b"guid" => guid = Some(value),
                _ => {}
            }
            match rest.split_first() {
                Some((b',', after)) => rest = after,
                Some((b'}', _)) => break,
                other => return unfinished(other.is_none()),
            }
        }
        match (guid.map(Guid::parse), file_id) {
            (Some(Some(guid)), _) => Mapping::External { guid, file_id: file_id.and_then(number), broken },
            (Some(None), _) => Mapping::Odd,
            (None, Some(b"0")) => Mapping::Null,
            (None, Some(_)) => Mapping::Local,
            (None, None) => Mapping::Other,
        }
    }
}

fn skip_space<'a>(bytes: &'a [u8], broken: &mut bool) -> &'a [u8] {
    let after = bytes.trim_ascii_start();
    *broken |= bytes[..bytes.len() - after.len()].contains(&b'\n');
    after
}

fn word(bytes: &[u8]) -> &[u8] {
    let length = bytes.iter().take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'_').count();
    &bytes[..length]
}

fn scalar(bytes: &[u8]) -> &[u8] {
    let ends = |byte: &u8| byte.is_ascii_whitespace() || b",{}".contains(byte);
    &bytes[..bytes.iter().position(ends).unwrap_or(bytes.len())]
}

/// The signed 64-bit number that the first word of `bytes` is.
pub(super) fn number(bytes: &[u8]) -> Option<i64> {
    let digits = bytes.iter().take(20).take_while(|byte| byte.is_ascii_digit() || **byte == b'-').count();
    std::str::from_utf8(&bytes[..digits]).ok()?.parse().ok()
}
