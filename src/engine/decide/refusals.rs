//! Which edits of a batch have to go, so that the rest is taken.
//!
//! A batch is refused whole. Whoever reads edits from a file wants to know which lines to leave out, all at once. So each
//! edit is decided in its turn, and one that is refused is undone before the next: what it named and said is forgotten,
//! and later edits are decided as if it had not been asked.

use super::Desk;
use crate::change::{Change, Edit};
use crate::engine::state::Engine;
use crate::error::Error;
use crate::time::Time;

impl Engine {
    /// The edits that have to go, by their places, so that the rest is taken.
    pub(crate) fn refusals(&self, edits: &[Edit], stamp: Time) -> Vec<(usize, Error)> {
        let mut desk = Desk::new(self, stamp);
        let mut refused = Vec::new();
        for (index, edit) in edits.iter().enumerate() {
            desk.edit = index;
            desk.claimed = Some(Vec::new());
            let before = desk.decision.changes.len();
            if let Err(error) = desk.decide(edit) {
                desk.undo(before);
                refused.push((index, error));
            }
        }
        refused
    }
}

impl Desk<'_> {
    /// Forgets what the present edit decided before it was refused.
    fn undo(&mut self, changes: usize) {
        for change in self.decision.changes.drain(changes..) {
            match change {
                Change::Name { id, .. } => drop(self.named.remove(&id)),
                Change::Say(say) if self.made.get(&say.topic) == Some(&self.edit) => drop(self.made.remove(&say.topic)),
                _ => {}
            }
        }
        self.grouped.retain(|_, edit| *edit != self.edit);
        for claim in self.claimed.take().into_iter().flatten() {
            self.said.remove(&claim);
        }
    }
}
