//! placeholder
use crate::View;
use crate::observation::Group;
use crate::sources::Report;
/// d
pub(super) const INSTANCE: &str = "link";
/// d
pub(super) fn link(_: &View) -> (Vec<Group>, Report) {
    (Vec::new(), Report::default())
}
