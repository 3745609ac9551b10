//! Where the real files with counted truth lie.

use std::path::{Path, PathBuf};

/// The folder of real files: `TRIGLYPH_DATA`, or `../shared/data` beside the project. None where there is neither.
pub fn folder() -> Option<PathBuf> {
    let told = std::env::var_os("TRIGLYPH_DATA").map(PathBuf::from);
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/data");
    told.into_iter().chain([beside]).find(|folder| folder.is_dir())
}
