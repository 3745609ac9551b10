//! The 32 hexadecimal digits by which Unity names an asset.
//!
//! A GUID is kept as one number, so that comparing it costs nothing and upper and lower case are one. It is shown in
//! lower case, always: that is the external id of a `UnityAsset`.

use std::fmt;

/// A GUID.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Guid(u128);

/// What stands where a GUID is expected.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Digits {
    /// A GUID.
    Guid(Guid),
    /// The file ends inside the digits.
    Cut,
    /// Something else.
    Other,
}

impl Guid {
    /// All zeros: no asset.
    pub(super) const ZERO: Guid = Guid(0);

    /// How many digits a GUID has.
    pub(super) const DIGITS: usize = 32;

    /// Reads what `bytes`, the rest of a file, begin with. A longer word is not a GUID.
    pub(super) fn begins(bytes: &[u8]) -> Digits {
        let word = bytes.iter().take(Guid::DIGITS + 1).take_while(|byte| byte.is_ascii_alphanumeric()).count();
        let mut value = 0u128;
        for &byte in &bytes[..word.min(Guid::DIGITS)] {
            match (byte as char).to_digit(16) {
                Some(digit) => value = value << 4 | u128::from(digit),
                None => return Digits::Other,
            }
        }
        match word {
            Guid::DIGITS => Digits::Guid(Guid(value)),
            1..Guid::DIGITS if word == bytes.len() => Digits::Cut,
            _ => Digits::Other,
        }
    }

    /// The GUID that `word` is, and nothing but it.
    pub(super) fn parse(word: &[u8]) -> Option<Guid> {
        match Guid::begins(word) {
            Digits::Guid(guid) if word.len() == Guid::DIGITS => Some(guid),
            _ => None,
        }
    }

    /// The name of the resource file inside the editor or player that this GUID stands for, if it is one of the three.
    pub(super) fn builtin(self) -> Option<&'static str> {
        // They are sixteen zeros, one of d, e and f, and fifteen zeros.
        match (self.0 >> 60, self.0 & ((1 << 60) - 1)) {
            (0xd, 0) => Some("unity editor resources"),
            (0xe, 0) => Some("unity default resources"),
            (0xf, 0) => Some("unity_builtin_extra"),
            _ => None,
        }
    }
}

impl fmt::Display for Guid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One digit misread and two assets become one, or an asset loses all its consumers.
    #[test]
    fn only_thirty_two_digits_are_a_guid() {
        let guid = "0F3c0b9838ae542978ded20fa0aa1929";
        let read = Guid::parse(guid.as_bytes()).unwrap();
        assert_eq!(read.to_string(), guid.to_lowercase());
        for (text, expected) in [
            (format!("{guid},"), Digits::Guid(read)),
            (format!("{guid}\r\n"), Digits::Guid(read)),
            (guid.into(), Digits::Guid(read)),
            (format!("{guid}0"), Digits::Other),
            (format!("{guid}z"), Digits::Other),
            (guid[..31].into(), Digits::Cut),
            (guid[..1].into(), Digits::Cut),
            (format!("{},", &guid[..31]), Digits::Other),
            (format!("g{}", &guid[1..]), Digits::Other),
            ("0f3c0b98-38ae-5429-78de-d20fa0aa1929".into(), Digits::Other),
            ("+f3c0b9838ae542978ded20fa0aa1929".into(), Digits::Other),
            (String::new(), Digits::Other),
        ] {
            assert_eq!(Guid::begins(text.as_bytes()), expected, "{text:?}");
        }
        assert_eq!(Guid::parse(b"0f3c0b9838ae542978ded20fa0aa1929 "), None);
    }

    /// Built-in resources are neither assets of the project nor missing; taken for missing they would be its worst hub.
    #[test]
    fn three_guids_are_built_in() {
        for (text, builtin) in [
            ("0000000000000000d000000000000000", true),
            ("0000000000000000e000000000000000", true),
            ("0000000000000000F000000000000000", true),
            ("0000000000000000c000000000000000", false),
            ("0000000000000000e000000000000001", false),
            ("1000000000000000e000000000000000", false),
            ("00000000000000000000000000000000", false),
        ] {
            assert_eq!(Guid::parse(text.as_bytes()).unwrap().builtin().is_some(), builtin, "{text}");
        }
        assert_eq!(Guid::parse(&[b'0'; 32]), Some(Guid::ZERO));
    }
}
