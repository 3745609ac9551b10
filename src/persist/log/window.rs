//! A part of a file, held in memory: what a reader of frames looks at.
//!
//! Frames are read in order, so a window that doesn't hold what is asked for moves there and reads ahead. It never grows
//! beyond the larger of [`READ_AHEAD`] and what is asked for at once, nor beyond what the file holds.
#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use std::io;

use crate::persist::medium::{Source, read_full};

/// How much is read ahead: some hundred frames of a usual size.
pub(crate) const READ_AHEAD: usize = 256 << 10;

/// A part of a file, held in memory.
pub(crate) struct Window {
    source: Box<dyn Source>,
    len: u64,
    start: u64,
    held: Vec<u8>,
}

impl Window {
    pub(crate) fn new(source: Box<dyn Source>) -> io::Result<Window> {
        let len = source.len()?;
        Ok(Window { source, len, start: 0, held: Vec::new() })
    }

    /// The length of the file when we last looked.
    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    /// `n` bytes at `offset`, or those before the end of the file.
    pub(crate) fn get(&mut self, offset: u64, n: usize) -> io::Result<&[u8]> {
        let left = usize::try_from(self.len.saturating_sub(offset)).unwrap_or(usize::MAX);
        let n = n.min(left);
        let held_until = self.start.saturating_add(self.held.len() as u64);
        if offset < self.start || offset.saturating_add(n as u64) > held_until {
            self.held.clear();
            self.held.resize(n.max(READ_AHEAD).min(left), 0);
            let filled = read_full(&mut *self.source, offset, &mut self.held)?;
            self.held.truncate(filled);
            self.start = offset;
        }
        let from = usize::try_from(offset.saturating_sub(self.start)).unwrap_or(usize::MAX);
        let rest = self.held.get(from..).unwrap_or_default();
        Ok(rest.get(..n).unwrap_or(rest))
    }

    /// Looks at the file anew.
    pub(crate) fn forget(&mut self) -> io::Result<()> {
        self.held.clear();
        self.len = self.source.len()?;
        Ok(())
    }
}
