//! The one public error.
//!
//! A message is written for the person who reads it at night: what was expected, what was found, where, and what to
//! do. A [`Code`] is for programs: a closed list, mapped once by each face to its own status. Meeting a bound is not
//! an error (it is part of an answer), nor is absence.

use std::fmt;

/// What went wrong, as a closed and stable list.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Code {
    /// The request can't be understood or breaks a rule; the message says which.
    Invalid,
    /// A budget, size or depth above its ceiling was asked for.
    AboveCeiling,
    /// Nothing of that id or name is here.
    NotFound,
    /// A name means several things; the candidates are in the details.
    AmbiguousSubject,
    /// Another write came first, or an id is taken by another identity.
    Conflict,
    /// CAN_REFERENCE does not allow this relation between these types.
    ReferenceNotAllowed,
    /// Another process holds the writer's lock.
    Locked,
    /// A failed write or sync stopped this writer; reads go on.
    Poisoned,
    /// The disk is full.
    NoSpace,
    /// The operating system refused a file operation.
    Io,
    /// Stored bytes are damaged.
    Corrupt,
    /// The store was written by another version of the format.
    UnsupportedVersion,
    /// A log belongs to another store or scope, or does not follow what stands before it.
    Foreign,
    /// A change would exceed a configured size.
    TooLarge,
    /// The caller's interrupt hook said stop.
    Interrupted,
}

impl Code {
    /// Every code there is.
    pub const ALL: [Code; 15] = [
        Code::Invalid,
        Code::AboveCeiling,
        Code::NotFound,
        Code::AmbiguousSubject,
        Code::Conflict,
        Code::ReferenceNotAllowed,
        Code::Locked,
        Code::Poisoned,
        Code::NoSpace,
        Code::Io,
        Code::Corrupt,
        Code::UnsupportedVersion,
        Code::Foreign,
        Code::TooLarge,
        Code::Interrupted,
    ];

    /// The stable text of the code.
    pub fn as_str(self) -> &'static str {
        match self {
            Code::Invalid => "invalid",
            Code::AboveCeiling => "above_ceiling",
            Code::NotFound => "not_found",
            Code::AmbiguousSubject => "ambiguous_subject",
            Code::Conflict => "conflict",
            Code::ReferenceNotAllowed => "reference_not_allowed",
            Code::Locked => "locked",
            Code::Poisoned => "poisoned",
            Code::NoSpace => "no_space",
            Code::Io => "io",
            Code::Corrupt => "corrupt",
            Code::UnsupportedVersion => "unsupported_version",
            Code::Foreign => "foreign",
            Code::TooLarge => "too_large",
            Code::Interrupted => "interrupted",
        }
    }
}

/// An error of Triglyph: a code, a message, and sometimes details for programs.
#[derive(Clone)]
pub struct Error(Box<Inner>);

#[derive(Clone)]
struct Inner {
    code: Code,
    message: String,
    details: serde_json::Value,
}

impl Error {
    /// An error with this code and message.
    pub fn new(code: Code, message: impl Into<String>) -> Error {
        Error(Box::new(Inner { code, message: message.into(), details: serde_json::Value::Null }))
    }

    pub(crate) fn invalid(message: impl Into<String>) -> Error {
        Error::new(Code::Invalid, message)
    }

    pub(crate) fn not_found(message: impl Into<String>) -> Error {
        Error::new(Code::NotFound, message)
    }

    /// An error of the operating system, with what was being done and to which file.
    pub fn io(what: impl fmt::Display, error: &std::io::Error) -> Error {
        let code = match error.kind() {
            std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded => Code::NoSpace,
            _ => Code::Io,
        };
        Error::new(code, format!("{what}: {error}"))
    }

    /// The same error with details for programs: a JSON object.
    pub fn with_details(mut self, details: impl serde::Serialize) -> Error {
        self.0.details = serde_json::to_value(details).unwrap_or_default();
        self
    }

    /// The same error with `place: ` before its message.
    pub fn at(mut self, place: impl fmt::Display) -> Error {
        self.0.message = format!("{place}: {}", self.0.message);
        self
    }

    /// What went wrong.
    pub fn code(&self) -> Code {
        self.0.code
    }

    /// What to tell a person.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// The error as every face shows it: `{"error": {"code", "message", "details"}}`.
    pub fn to_json(&self) -> serde_json::Value {
        let details = match &self.0.details {
            serde_json::Value::Null => serde_json::json!({}),
            details => details.clone(),
        };
        serde_json::json!({ "error": { "code": self.0.code.as_str(), "message": self.0.message, "details": details } })
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.0.code.as_str(), self.0.message)
    }
}

impl std::error::Error for Error {}

/// The word of `known` that `found` was most likely meant to be, if one is close.
pub(crate) fn nearest<'a>(found: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let folded = found.to_lowercase();
    known
        .into_iter()
        .map(|word| (strsim::damerau_levenshtein(&folded, &word.to_lowercase()), word))
        .filter(|(distance, word)| *distance <= 1 + word.chars().count() / 3)
        .min()
        .map(|(_, word)| word)
}

/// `; did you mean "word"?` where a known word is near, else nothing.
pub(crate) fn did_you_mean<'a>(found: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    nearest(found, known).map(|word| format!("; did you mean {word:?}?")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Faces map codes once; a code that repeats or is missing from the list would be mapped by chance.
    #[test]
    fn codes_are_distinct() {
        let texts: std::collections::BTreeSet<_> = Code::ALL.iter().map(|code| code.as_str()).collect();
        assert_eq!(texts.len(), Code::ALL.len());
    }

    #[test]
    fn the_nearest_word_is_near() {
        let known = ["DEPENDS_ON", "CONTAINS", "CALLS"];
        assert_eq!(nearest("depends-on", known), Some("DEPENDS_ON"));
        assert_eq!(nearest("CAL", known), Some("CALLS"));
        assert_eq!(nearest("zebra", known), None);
    }
}
