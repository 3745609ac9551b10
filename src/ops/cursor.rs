//! Cursors of list-shaped operations: where a list was left, and at which sequence.
//!
//! A cursor is a text that the caller hands back as it came. It survives a restart, and holds no position that a rebuild
//! could renumber: only the key after which the list goes on.
//!
//! 1. A list is one list: each page is read as recorded at the sequence of the first. Without `as_of` the present goes on
//!    with the clock; a cursor holds no clock, so that the same store and request give the same cursor.
//! 2. A cursor continues the list that gave it, and no other: operation, filters and look are the same, or it is refused.

use serde_json::json;

use crate::engine::lens::Lens;
use crate::error::Error;
use crate::id::Seq;

/// The cursor after `key`, in the list of `operation` that `filter` describes.
pub(crate) fn after(operation: &str, filter: &str, lens: &Lens, key: &str) -> String {
    let place = json!([list(operation, filter, lens), lens.recorded(), key]);
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
    let place = place.and_then(|bytes| serde_json::from_slice::<(String, Seq, String)>(&bytes).ok());
    let Some((of, seq, key)) = place.filter(|(of, ..)| of.starts_with(&format!("{operation}\n"))) else {
        return Err(Error::invalid(format!(
            "expected a cursor that {operation} gave, found {cursor:?}; start again without"
        )));
    };
    if of != list(operation, filter, lens) {
        return Err(Error::invalid(format!(
            "the cursor continues another list of {operation}; ask as for its first page, or start again without"
        )));
    }
    let resumed = lens.clone().as_recorded(seq)?.at(lens.valid());
    Ok((resumed, Some(key)))
}

/// What makes a list this list, but for when it is read.
fn list(operation: &str, filter: &str, lens: &Lens) -> String {
    let revision = lens.only_revision().map_or("", |revision| revision);
    let as_of = lens.asked().map_or_else(String::new, |at| at.to_string());
    format!("{operation}\n{filter}\n{as_of}\n{}\n{revision}", lens.floor().as_str())
}
