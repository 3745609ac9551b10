//! The production questions: declarative patterns in one table, and the function that runs a row.

pub mod owner;
pub mod patterns;
pub mod run;

use crate::budget::{Answer, Interrupt};
use crate::engine::lens::Lens;
use crate::error::Error;
use crate::ops::shape::Expansion;
use run::{DomainRequest, run};

/// Everything that depends on an asset, transitively.
///
/// # Errors
/// As every pattern: an unknown, ambiguous or unfitting subject, a bound above its ceiling.
pub fn asset_consumers(lens: &Lens, request: &DomainRequest, interrupt: Interrupt) -> Result<Answer<Expansion>, Error> {
    run(lens, &patterns::ASSET_CONSUMERS, request, interrupt)
}

/// Code, assets, builds, deployments and owners that a change can reach, strongest path first.
///
/// # Errors
/// As every pattern: an unknown, ambiguous or unfitting subject, a bound above its ceiling.
pub fn change_blast_radius(
    lens: &Lens,
    request: &DomainRequest,
    interrupt: Interrupt,
) -> Result<Answer<Expansion>, Error> {
    run(lens, &patterns::CHANGE_BLAST_RADIUS, request, interrupt)
}
