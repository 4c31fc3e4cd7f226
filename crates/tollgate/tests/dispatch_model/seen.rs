//! What the turns went through.

/// What the turns went through. A model that never saw a thing proves nothing about it.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    pub(crate) shared_ids: usize,
    pub(crate) stopped_before_start: usize,
    pub(crate) stopped_after_start: usize,
    pub(crate) stopped_by_siblings: usize,
    pub(crate) unknown: usize,
    pub(crate) finished_first: usize,
    pub(crate) left: usize,
    pub(crate) full_peaks: usize,
    pub(crate) discarded: usize,
    pub(crate) dispatchers_at_once: usize,
}

impl Seen {
    pub(crate) fn everything(self) {
        println!("{self:?}");
        let Self {
            shared_ids,
            stopped_before_start,
            stopped_after_start,
            stopped_by_siblings,
            unknown,
            finished_first,
            left,
            full_peaks,
            discarded,
            dispatchers_at_once,
        } = self;
        let counts = [
            shared_ids,
            stopped_before_start,
            stopped_after_start,
            stopped_by_siblings,
            unknown,
            finished_first,
            left,
            full_peaks,
            discarded,
            dispatchers_at_once,
        ];
        assert!(counts.iter().all(|count| *count >= 20), "{counts:?}");
    }
}
