//! Cursors of list-shaped operations: where a list was left, and as of when it was read.
//!
//! A cursor is a text that the caller hands back as it came. It survives a restart, and holds no position that a rebuild
//! could renumber: only the key after which the list goes on.
//!
//! 1. A list is one list: each page is read at the sequence and the valid time of the first.
//! 2. A cursor continues the list that gave it, and no other: operation, filters and look are the same, or it is refused.

use serde_json::json;

use crate::engine::lens::Lens;
use crate::error::Error;
use crate::id::Seq;
use crate::time::Time;

/// The cursor after `key`, in the list of `operation` that `filter` describes.
pub(crate) fn after(operation: &str, filter: &str, lens: &Lens, key: &str) -> String {
    let place = json!([list(operation, filter, lens), lens.recorded(), lens.valid().micros(), key]);
    data_encoding::BASE64URL_NOPAD.encode(place.to_string().as_bytes())
}

/// The lens that a list goes on under, and the key after which it does; as it is where no cursor was given.
///
/// # Errors
/// `invalid` when the text is no cursor of this list.
pub(crate) fn resume(
    operation: &str,
    filter: &str,
    lens: &Lens,
    cursor: Option<&str>,
) -> Result<(Lens, Option<String>), Error> {
    let Some(cursor) = cursor else { return Ok((lens.clone(), None)) };
    let place = data_encoding::BASE64URL_NOPAD.decode(cursor.as_bytes()).ok();
    let place = place.and_then(|bytes| serde_json::from_slice::<(String, Seq, i64, String)>(&bytes).ok());
    let Some((of, seq, valid, key)) = place.filter(|(of, ..)| of.starts_with(&format!("{operation}\n"))) else {
        return Err(Error::invalid(format!(
            "expected a cursor that {operation} gave, found {cursor:?}; start again without"
        )));
    };
    let valid = Time::from_micros(valid);
    if of != list(operation, filter, lens) || lens.asked().is_some_and(|asked| asked != valid) {
        return Err(Error::invalid(format!(
            "the cursor continues another list of {operation}; ask as for its first page, or start again without"
        )));
    }
    let mut lens = lens.clone().as_recorded(seq)?;
    if lens.asked().is_none() {
        lens = lens.at(valid);
    }
    Ok((lens, Some(key)))
}

/// What makes a list this list, but for when it is read.
fn list(operation: &str, filter: &str, lens: &Lens) -> String {
    let revision = lens.only_revision().map_or("", |revision| revision);
    format!("{operation}\n{filter}\n{}\n{}\n{revision}", lens.asked().is_some(), lens.floor().as_str())
}
