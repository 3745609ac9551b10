//! Who owns what: a CODEOWNERS file.
//!
//! The source does not know which files there are, so it emits no OWNS. It emits the people, and on the CODEOWNERS
//! file itself its rules as a property: rules are content, and the phase `link` applies them to the files that the
//! graph holds. [`Rules`] decides one path by one file, [`Rulebook`] by all the files of a graph; `link` and the
//! operation `owner` ask the same one.
//!
//! 1. The file is one group, and all or nothing: rules that don't fit a property are not cut, since a missing last
//!    rule would give the file's other owners what isn't theirs.
//! 2. Patterns are relative to the *base*: the folder that holds the file, or the one above `.github`, `docs`, `.gitlab`.

mod codeowners;
mod pattern;
mod rulebook;
mod rules;

pub use codeowners::{Codeowners, LINE_BYTES_MAX, Mention};
pub use pattern::Pattern;
pub use rulebook::{RuleFile, Rulebook, Ruling};
pub use rules::{Rule, Rules, deciding_rule};

use sha2::{Digest, Sha256};

use crate::error::{Code, Error};
use crate::evidence::GroupKey;
use crate::key::{EntityKey, Name};
use crate::observation::{Group, Observation};
use crate::sources::{Parsed, Progress, Report, Source, SourceFiles, below, cancelled};
use crate::value::{Value, check_props};

/// The largest CODEOWNERS that is read; ten times what GitHub accepts.
pub const FILE_BYTES_MAX: u64 = 32 << 20;

/// The property of a CODEOWNERS file that holds its rules: one `[line, pattern, [owners…]]` each, in order.
pub const RULES: &str = "ownership_rules";

/// The property of a CODEOWNERS file that holds the folder to which its patterns are relative.
pub const BASE: &str = "ownership_base";

/// One CODEOWNERS file.
#[derive(Clone, Debug)]
pub struct Ownership {
    instance: Name,
    file: String,
    path: String,
}

impl Ownership {
    /// The CODEOWNERS at `file`, in a root that lies at `at` in the repository-relative paths of the graph (`""` where
    /// the root is the repository). The name of the source instance is `ownership:<instance>`.
    pub fn new(instance: &str, file: &str, at: &str) -> Ownership {
        Ownership { instance: format!("ownership:{instance}").into(), file: file.to_owned(), path: below(at, file) }
    }

    fn observe(&self, content: &[u8], report: &mut Report) -> Result<Group, Error> {
        let found = Codeowners::parse(content, &self.path, report)?;
        let name = self.path.rsplit('/').next().unwrap_or(&self.path);
        let mut file = Observation::entity(EntityKey::new("File", "repo", self.path.as_str()))
            .with("path", Some(self.path.as_str()))
            .with("name", Some(name))
            .with(RULES, Some(rules::to_value(&found.rules)))
            .with(BASE, Some(base(&self.path)));
        file.place = Some(Value::from(self.path.as_str()));
        check_props(&file.props)?;

        let mut observations = vec![file];
        for (id, mention) in found.owners {
            report.count("owners");
            let mut owner = Observation::entity(EntityKey::new("Owner", "ownership", id))
                .with("name", Some(Value::from(&mention.written)));
            owner.place = Some(Value::from(format!("{}:L{}", self.path, mention.line)));
            observations.push(owner);
        }
        let digest = data_encoding::HEXLOWER.encode(&Sha256::digest(content)[..8]);
        Ok(Group {
            key: GroupKey::new(&self.instance, self.path.as_str()),
            revision: Some(format!("sha256:{digest}").into()),
            observations,
        })
    }
}

impl Source for Ownership {
    fn instance(&self) -> &Name {
        &self.instance
    }

    /// Reads the file.
    ///
    /// # Errors
    /// When it is missing: a source that no longer applies is taken out of the configuration.
    fn parse(&self, files: &dyn SourceFiles, progress: &mut dyn Progress) -> Result<Parsed, Error> {
        if progress.step(0, Some(1)).is_break() {
            return Err(cancelled());
        }
        let mut parsed = Parsed::default();
        match files.read(&self.file, FILE_BYTES_MAX) {
            Err(error) if error.code() == Code::NotFound => return Err(error),
            Err(error) => {
                parsed.report.skip(&self.path, "unreadable", error.to_string());
                parsed.stale.push(self.path.as_str().into());
            }
            Ok(content) => {
                parsed.report.files = 1;
                parsed.report.bytes = content.len() as u64;
                match self.observe(&content, &mut parsed.report) {
                    Ok(group) => parsed.groups.push(group),
                    Err(error) => {
                        parsed.report.defect(&self.path, error.code().as_str(), error.to_string());
                        parsed.stale.push(self.path.as_str().into());
                    }
                }
            }
        }
        if progress.step(1, Some(1)).is_break() { Err(cancelled()) } else { Ok(parsed) }
    }
}

/// The folder that the patterns of the CODEOWNERS at `path` are relative to.
fn base(path: &str) -> &str {
    let parent = |path: &str| path.rfind('/').unwrap_or(0);
    let folder = &path[..parent(path)];
    match folder.rsplit('/').next() {
        Some(".github" | "docs" | ".gitlab") => &folder[..parent(folder)],
        _ => folder,
    }
}

#[cfg(test)]
mod tests;
