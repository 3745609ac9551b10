//! A column in pages that are copied when written.
//!
//! A radix tree of fixed height: a root of branches of 64 leaves of 64 elements. Cloning copies one pointer; writing
//! to a shared column copies the root (one pointer per 4,096 elements), one branch and one leaf, and leaves the rest
//! shared. Writing to pages that nobody else holds copies nothing.
//!
//! 1. Every leaf but the last is full, and so is every branch but the last.

use std::sync::Arc;

const WIDTH: usize = 64;
const BRANCH: usize = WIDTH * WIDTH;

/// A growable column whose clones share pages.
#[derive(Debug)]
pub(crate) struct Paged<T> {
    root: Arc<Vec<Branch<T>>>,
    len: usize,
}

type Branch<T> = Arc<Vec<Arc<Vec<T>>>>;

impl<T> Clone for Paged<T> {
    fn clone(&self) -> Paged<T> {
        Paged { root: self.root.clone(), len: self.len }
    }
}

impl<T> Default for Paged<T> {
    fn default() -> Paged<T> {
        Paged { root: Arc::new(Vec::new()), len: 0 }
    }
}

impl<T: Clone> Paged<T> {
    /// How many elements there are.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// The element at `i`. Three dependent loads.
    ///
    /// # Panics
    /// When `i` is out of bounds.
    pub(crate) fn at(&self, i: usize) -> &T {
        &self.root[i / BRANCH][i / WIDTH % WIDTH][i % WIDTH]
    }

    /// The element at `i`, to be changed: copies what is shared on the way to it.
    ///
    /// # Panics
    /// When `i` is out of bounds.
    pub(crate) fn at_mut(&mut self, i: usize) -> &mut T {
        let branch = Arc::make_mut(&mut Arc::make_mut(&mut self.root)[i / BRANCH]);
        &mut Arc::make_mut(&mut branch[i / WIDTH % WIDTH])[i % WIDTH]
    }

    /// Adds an element at the end.
    pub(crate) fn push(&mut self, element: T) {
        let root = Arc::make_mut(&mut self.root);
        if self.len.is_multiple_of(BRANCH) {
            root.push(Arc::new(Vec::new()));
        }
        let branch = Arc::make_mut(&mut root[self.len / BRANCH]);
        if self.len.is_multiple_of(WIDTH) {
            branch.push(Arc::new(Vec::with_capacity(WIDTH)));
        }
        Arc::make_mut(&mut branch[self.len / WIDTH % WIDTH]).push(element);
        self.len += 1;
    }

    /// All elements in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        self.root.iter().flat_map(|branch| branch.iter()).flat_map(|leaf| leaf.iter())
    }
}

impl<T: Clone> FromIterator<T> for Paged<T> {
    fn from_iter<I: IntoIterator<Item = T>>(elements: I) -> Paged<T> {
        let mut column = Paged::default();
        for element in elements {
            column.push(element);
        }
        column
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A view that saw a later write would not be a snapshot.
    #[test]
    fn clones_do_not_see_later_writes() {
        let mut column: Paged<usize> = (0..10_000).collect();
        let before = column.clone();
        for i in [0, 63, 64, 4_095, 4_096, 9_999] {
            *column.at_mut(i) = 0;
            column.push(i);
        }
        assert_eq!(before.len(), 10_000);
        assert!(before.iter().copied().eq(0..10_000));
        assert_eq!((*column.at(64), *column.at(65), *column.at(10_002)), (0, 65, 64));
    }
}
