//! Documents that were computed for one request and answer others: the same part of the same run, read as far. How many
//! bytes of them are cached is bounded. The one used last is kept however long it is, so that it answers all who wait for it.

use axum::body::Bytes;

use super::cached_run::CurveView;

/// Bytes that are cached, but for the document used last.
const BYTES_MAX: usize = 64 << 20;

/// What a document depends on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct DocumentKey {
    /// As far as it was read.
    pub(super) run: RunVersion,
    pub(super) part: DocumentPart,
}

/// What of a run a document has.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum DocumentPart {
    /// The report.
    Report(CurveView),
    /// The series, with every point.
    Csv,
}

/// A run as it stood when it was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RunVersion {
    /// Of this server: a name, and a number in the store, may be another run's since.
    pub(super) number: u64,
    /// `seq` of the last event taken in.
    pub(super) last: Option<u64>,
    /// That its process is gone is said by no event.
    pub(super) live: bool,
}

#[derive(Default)]
pub(super) struct DocumentCache {
    /// The one used last stands last.
    entries: Vec<(DocumentKey, Bytes)>,
    computed: u64,
}

impl DocumentCache {
    pub(super) fn get(&mut self, key: &DocumentKey) -> Option<Bytes> {
        let place = self.entries.iter().position(|(known, _)| known == key)?;
        let entry = self.entries.remove(place);
        let document = entry.1.clone();
        self.entries.push(entry);
        Some(document)
    }

    /// Caches a document that was computed, and drops those of its run that are out of date.
    pub(super) fn insert(&mut self, key: DocumentKey, document: Bytes) {
        self.computed += 1;
        self.entries.retain(|(known, _)| known.run.number != key.run.number || known.run == key.run);
        self.entries.push((key, document));
        let mut bytes: usize = self.entries.iter().map(|(_, document)| document.len()).sum();
        while bytes > BYTES_MAX && self.entries.len() > 1 {
            bytes -= self.entries.remove(0).1.len();
        }
    }

    /// Documents that were computed so far.
    pub(super) fn computed(&self) -> u64 {
        self.computed
    }
}

#[cfg(test)]
mod tests {
    use dyno_results::decimate::Span;

    use super::*;

    fn key(number: u64, last: u64, points: usize) -> DocumentKey {
        let run = RunVersion { number, last: Some(last), live: true };
        DocumentKey { run, part: DocumentPart::Report(CurveView { span: Span::ALL, points }) }
    }

    #[test]
    fn what_was_not_used_the_longest_gives_way() {
        let mut cache = DocumentCache::default();
        let third = Bytes::from(vec![0; BYTES_MAX / 3]);
        for points in [1, 2, 3] {
            cache.insert(key(1, 7, points), third.clone());
        }
        assert!(cache.get(&key(1, 7, 1)).is_some());
        cache.insert(key(2, 7, 4), third.clone());
        let known =
            [1, 2, 3, 4].map(|points| cache.get(&key(if points == 4 { 2 } else { 1 }, 7, points)).is_some());
        assert_eq!(known, [true, false, true, true]);
        // One that is too long for it answers those who wait for it, until there is another one.
        cache.insert(key(3, 7, 5), Bytes::from(vec![0; BYTES_MAX + 1]));
        assert!(cache.get(&key(3, 7, 5)).is_some() && cache.entries.len() == 1);
        cache.insert(key(3, 7, 6), third);
        assert!(cache.get(&key(3, 7, 5)).is_none() && cache.entries.len() == 1);
    }

    #[test]
    fn a_run_that_has_grown_keeps_no_document_of_before() {
        let mut cache = DocumentCache::default();
        for key in [key(1, 7, 1), key(1, 7, 2), key(2, 7, 1), key(1, 8, 1)] {
            cache.insert(key, Bytes::new());
        }
        let known =
            [key(1, 7, 1), key(1, 7, 2), key(2, 7, 1), key(1, 8, 1)].map(|key| cache.get(&key).is_some());
        assert_eq!(known, [false, false, true, true]);
        let mut ended = key(1, 8, 1);
        ended.run.live = false;
        assert!(cache.get(&ended).is_none(), "it has ended since, without an event");
    }
}
