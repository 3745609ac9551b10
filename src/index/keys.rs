//! From a key to its row: a hash table in copy-on-write pages.
//!
//! The table stores the hash and the row, never the key; the caller says whether a row is the one it looks for. So
//! one structure serves ids, relation identities, names and surface forms.
//!
//! 1. The number of buckets is a power of two; a row lies in the bucket of its hash's low bits.
//! 2. On average a bucket holds at most [`LOAD`] rows; the table doubles before it would hold more.

use super::paged::Paged;

/// 8 entries of 8 bytes: one cache line.
const LOAD: usize = 8;

/// Rows by the hash of their keys.
#[derive(Clone, Debug, Default)]
pub(crate) struct Keys {
    buckets: Paged<Vec<Entry>>,
    len: usize,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    hash: u32,
    row: u32,
}

/// The hash of a key's bytes.
pub(crate) fn hash(bytes: &[u8]) -> u64 {
    xxhash_rust::xxh3::xxh3_64(bytes)
}

impl Keys {
    /// The row under this hash that `is_it` recognises.
    pub(crate) fn find(&self, hash: u64, mut is_it: impl FnMut(u32) -> bool) -> Option<u32> {
        self.all(hash).find(|row| is_it(*row))
    }

    /// Every row under this hash (and, rarely, of another key).
    pub(crate) fn all(&self, hash: u64) -> impl Iterator<Item = u32> {
        let bucket = if self.buckets.len() == 0 { &[][..] } else { self.buckets.at(self.bucket(hash)) };
        let high = high(hash);
        bucket.iter().filter(move |entry| entry.hash == high).map(|entry| entry.row)
    }

    /// Adds a row. The caller makes sure that it isn't there.
    pub(crate) fn insert(&mut self, hash: u64, row: u32, hash_of: impl Fn(u32) -> u64) {
        if self.len == self.buckets.len() * LOAD {
            self.double(hash_of);
        }
        let bucket = self.bucket(hash);
        self.buckets.at_mut(bucket).push(Entry { hash: high(hash), row });
        self.len += 1;
    }

    fn bucket(&self, hash: u64) -> usize {
        (hash as u32) as usize & (self.buckets.len() - 1)
    }

    fn double(&mut self, hash_of: impl Fn(u32) -> u64) {
        let mut grown = vec![Vec::new(); (self.buckets.len() * 2).max(1)];
        let mask = grown.len() - 1;
        for entry in self.buckets.iter().flatten() {
            grown[hash_of(entry.row) as u32 as usize & mask].push(*entry);
        }
        self.buckets = grown.into_iter().collect();
    }
}

/// The half of the hash that picks no bucket, so that it tells apart what shares one.
fn high(hash: u64) -> u32 {
    (hash >> 32) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_what_was_inserted() {
        let words: Vec<String> = (0..5_000).map(|i| format!("word {i}")).collect();
        let hash_of = |row: u32| hash(words[row as usize].as_bytes());
        let mut keys = Keys::default();
        for row in 0..5_000 {
            assert_eq!(keys.find(hash_of(row), |found| found == row), None);
            keys.insert(hash_of(row), row, hash_of);
        }
        assert!((0..5_000).all(|row| keys.find(hash_of(row), |found| found == row) == Some(row)));
        assert_eq!(keys.find(hash(b"no such word"), |_| false), None);
    }

    /// With all hashes equal the table is slow, but must stay right.
    #[test]
    fn survives_collisions() {
        let mut keys = Keys::default();
        for row in 0..100 {
            keys.insert(7, row, |_| 7);
        }
        assert_eq!(keys.find(7, |row| row == 99), Some(99));
        assert_eq!(keys.all(7).count(), 100);
    }
}
