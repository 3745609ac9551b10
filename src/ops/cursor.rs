//! Cursors of list-shaped operations: where a list was left, and at which sequence.
//!
//! A cursor is a text that the caller hands back as it came. It is bound to the operation and the sequence, survives a
//! restart, and holds no position that a rebuild could renumber: only the key after which the list goes on.

use crate::error::Error;
use crate::id::Seq;

/// The cursor after `key`, in a list of `operation` at `seq`.
pub(crate) fn after(operation: &str, seq: Seq, key: &str) -> String {
    data_encoding::BASE64URL_NOPAD.encode(format!("{operation}\n{seq}\n{key}").as_bytes())
}

/// The sequence and key of a cursor.
///
/// # Errors
/// `invalid` when the text is no cursor of this operation.
pub(crate) fn read(operation: &str, cursor: &str) -> Result<(Seq, String), Error> {
    let bad =
        || Error::invalid(format!("expected a cursor that {operation} gave, found {cursor:?}; start again without"));
    let bytes = data_encoding::BASE64URL_NOPAD.decode(cursor.as_bytes()).map_err(|_| bad())?;
    let text = String::from_utf8(bytes).map_err(|_| bad())?;
    let mut parts = text.splitn(3, '\n');
    let (of, seq, key) = (parts.next(), parts.next(), parts.next());
    match (of, seq.and_then(|seq| seq.parse().ok()), key) {
        (Some(of), Some(seq), Some(key)) if of == operation => Ok((Seq(seq), key.to_owned())),
        _ => Err(bad()),
    }
}
