//! The pair (workspace, game) that everything belongs to.
//!
//! The tri-graph calls the same pair (tenant, namespace). A scope is opened, never passed beside another one: no
//! function of the library takes two.
//!
//! 1. Both names are non-empty UTF-8 of at most 256 bytes.
//! 2. Names never become path components: a scope's folder is 26 base32 digits of a digest of both.

use std::fmt;

use sha2::{Digest, Sha256};

use crate::error::Error;
use crate::id::length_prefixed;
use crate::key::Name;

/// The most bytes that a workspace or a game may have in its name.
pub const NAME_BYTES_MAX: usize = 256;

/// A workspace and a game in it.
///
/// ```
/// use triglyph::Scope;
///
/// let scope: Scope = "acme/demo".parse()?;
/// assert_eq!(scope, Scope::new("acme", "demo")?);
/// assert!(Scope::new("", "demo").is_err());
/// # Ok::<(), triglyph::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Scope {
    workspace: Name,
    game: Name,
}

impl Scope {
    /// A scope out of its two names.
    ///
    /// # Errors
    /// `invalid` when a name is empty or longer than [`NAME_BYTES_MAX`] bytes.
    pub fn new(workspace: &str, game: &str) -> Result<Scope, Error> {
        for (what, name) in [("workspace", workspace), ("game", game)] {
            if name.is_empty() || name.len() > NAME_BYTES_MAX {
                return Err(Error::invalid(format!(
                    "expected a {what} of 1 to {NAME_BYTES_MAX} bytes, found {} bytes",
                    name.len()
                )));
            }
        }
        Ok(Scope { workspace: workspace.into(), game: game.into() })
    }

    /// The workspace (the tri-graph's tenant).
    pub fn workspace(&self) -> &str {
        &self.workspace
    }

    /// The game (the tri-graph's namespace).
    pub fn game(&self) -> &str {
        &self.game
    }

    /// The scope's id in files: 128 bits of SHA-256 over its length-prefixed names.
    pub(crate) fn digest(&self) -> [u8; 16] {
        let digest = Sha256::digest(length_prefixed(&[&self.workspace, &self.game]));
        *digest.first_chunk().expect("SHA-256 has 32 bytes")
    }

    /// The name of the scope's folder: base32 of its digest, the same length whatever the names hold.
    pub(crate) fn folder(&self) -> String {
        data_encoding::BASE32_NOPAD.encode(&self.digest()).to_ascii_lowercase()
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.workspace, self.game)
    }
}

impl std::str::FromStr for Scope {
    type Err = Error;

    /// `workspace/game`, split at the first slash.
    fn from_str(text: &str) -> Result<Scope, Error> {
        let (workspace, game) = text.split_once('/').ok_or_else(|| {
            Error::invalid(format!("expected a scope such as acme/demo (workspace/game), found {text:?}"))
        })?;
        Scope::new(workspace, game)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A name such as `../../etc` must never reach the file system.
    #[test]
    fn folders_are_plain() {
        for (workspace, game) in [("../..", "x"), ("con", "nul\0"), ("Ünïcode", "ゲーム"), ("a/b", "c")] {
            let folder = Scope::new(workspace, game).unwrap().folder();
            assert_eq!(folder.len(), 26);
            assert!(folder.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit()), "{folder}");
        }
    }

    /// On a file system that folds case, `Acme` and `acme` must still be two folders.
    #[test]
    fn folders_do_not_collide_by_case() {
        let upper = Scope::new("Acme", "demo").unwrap().folder();
        assert_ne!(upper, Scope::new("acme", "demo").unwrap().folder());
    }
}
