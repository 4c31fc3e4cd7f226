//! Which bodies of a batch have something to say: told from whatever task they run on, taken by whoever runs the batch.
//!
//! One place for all of them. A waker for each would be made, kept, woken and dropped a thousand times over.

use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, Waker},
};

/// The places, in the turn, of calls whose bodies are to be looked at.
#[derive(Debug, Default)]
pub(crate) struct Inbox(Mutex<Told>);

#[derive(Debug, Default)]
struct Told {
    places: Vec<usize>,
    // Whoever waits; woken once, by the first.
    reader: Option<Waker>,
}

impl Inbox {
    /// Says that the body of the call at `place` has no more to say.
    pub(crate) fn tell(&self, place: usize) {
        let mut told = self.told();
        told.places.push(place);
        let reader = told.reader.take();
        drop(told);
        reader.into_iter().for_each(Waker::wake);
    }

    pub(crate) fn has_some(&self) -> bool {
        !self.told().places.is_empty()
    }

    /// Takes all that was told so far, in the place of what is in `places`; waits where nothing was.
    pub(crate) fn poll_take(&self, task: &Context<'_>, places: &mut Vec<usize>) -> Poll<()> {
        places.clear();
        let mut told = self.told();
        if told.places.is_empty() {
            told.reader = Some(task.waker().clone());
            return Poll::Pending;
        }
        std::mem::swap(&mut told.places, places);
        Poll::Ready(())
    }

    fn told(&self) -> MutexGuard<'_, Told> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::{
        sync::{
            Arc,
            atomic::{AtomicUsize, Ordering},
        },
        task::Wake,
    };

    use super::*;

    #[derive(Default)]
    struct Woken(AtomicUsize);

    impl Wake for Woken {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::AcqRel);
        }
    }

    #[test]
    fn whoever_waits_is_woken_by_the_first_and_takes_all_there_is() {
        let (inbox, woken, mut places) = (Inbox::default(), Arc::new(Woken::default()), vec![9]);
        let waker = woken.clone().into();
        let task = Context::from_waker(&waker);
        assert!(inbox.poll_take(&task, &mut places).is_pending());
        inbox.tell(3);
        inbox.tell(1);
        assert_eq!(woken.0.load(Ordering::Acquire), 1);
        assert!(inbox.poll_take(&task, &mut places).is_ready());
        assert_eq!(places, [3, 1]);
        assert!(inbox.poll_take(&task, &mut places).is_pending());
        assert!(places.is_empty());
    }
}
