//! One answer, from a task to whoever waits for it. Each side hears when the other is gone.
//!
//! A channel for one value, but for where it lies: with what both sides share already.

use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, Waker},
};

/// Where the answer is left.
#[derive(Debug)]
pub(crate) struct Post<T>(Mutex<State<T>>);

#[derive(Debug)]
struct State<T> {
    answer: Option<T>,
    reader: Side,
    writer: Side,
}

#[derive(Debug)]
enum Side {
    /// Has not said where to find it.
    There,
    Waits(Waker),
    Gone,
}

impl<T> Default for Post<T> {
    fn default() -> Self {
        Self(Mutex::new(State { answer: None, reader: Side::There, writer: Side::There }))
    }
}

impl<T> Post<T> {
    /// Makes it ready for another answer. Both sides of the last one are gone.
    pub(crate) fn open(&self) {
        *self.state() = State { answer: None, reader: Side::There, writer: Side::There };
    }

    /// Leaves the answer. Gives it back where nobody waits for it any more.
    #[must_use]
    pub(crate) fn send(&self, answer: T) -> Option<T> {
        let mut state = self.state();
        state.writer = Side::Gone;
        if let Side::Gone = state.reader {
            return Some(answer);
        }
        state.answer = Some(answer);
        let reader = state.reader.take();
        drop(state);
        reader.into_iter().for_each(Waker::wake);
        None
    }

    /// The answer; `None` where there will be none.
    pub(crate) fn poll_answer(&self, task: &Context<'_>) -> Poll<Option<T>> {
        let mut state = self.state();
        if let Side::Gone = state.writer {
            return Poll::Ready(state.answer.take());
        }
        state.reader.waits(task);
        Poll::Pending
    }

    /// Takes the answer that is there, where `wanted` does; what it gives back stays.
    pub(crate) fn take_as<U>(&self, wanted: impl FnOnce(T) -> Result<U, T>) -> Option<U> {
        let mut state = self.state();
        match wanted(state.answer.take()?) {
            Ok(answer) => Some(answer),
            Err(answer) => {
                state.answer = Some(answer);
                None
            }
        }
    }

    /// Ready once nobody waits for the answer any more.
    pub(crate) fn poll_closed(&self, task: &Context<'_>) -> Poll<()> {
        let mut state = self.state();
        if let Side::Gone = state.reader {
            return Poll::Ready(());
        }
        state.writer.waits(task);
        Poll::Pending
    }

    /// Nobody waits any more. Gives back an answer that nobody took.
    #[must_use]
    pub(crate) fn close(&self) -> Option<T> {
        let mut state = self.state();
        state.reader = Side::Gone;
        let (answer, writer) = (state.answer.take(), state.writer.take());
        drop(state);
        writer.into_iter().for_each(Waker::wake);
        answer
    }

    /// Nobody answers any more. What was left before stays.
    pub(crate) fn leave(&self) {
        let mut state = self.state();
        state.writer = Side::Gone;
        let reader = state.reader.take();
        drop(state);
        reader.into_iter().for_each(Waker::wake);
    }

    fn state(&self) -> MutexGuard<'_, State<T>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Side {
    fn waits(&mut self, task: &Context<'_>) {
        match self {
            Self::Waits(waker) => waker.clone_from(task.waker()),
            Self::There => *self = Self::Waits(task.waker().clone()),
            Self::Gone => {}
        }
    }

    /// Whoever waits there, to be woken.
    fn take(&mut self) -> Option<Waker> {
        match std::mem::replace(self, Self::There) {
            Self::Waits(waker) => Some(waker),
            Self::There => None,
            Self::Gone => {
                *self = Self::Gone;
                None
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::task::Wake;

    use futures_util::task::noop_waker;

    use super::*;

    #[derive(Default)]
    struct Woken(std::sync::atomic::AtomicBool);

    impl Wake for Woken {
        fn wake(self: std::sync::Arc<Self>) {
            self.0.store(true, std::sync::atomic::Ordering::Release);
        }
    }

    /// Whether `then` wakes whoever waits with `wait`.
    fn wakes(wait: impl Fn(&Context<'_>), then: impl Fn()) -> bool {
        let woken = std::sync::Arc::new(Woken::default());
        wait(&Context::from_waker(&woken.clone().into()));
        then();
        woken.0.load(std::sync::atomic::Ordering::Acquire)
    }

    #[test]
    fn an_answer_wakes_who_waits_for_it_and_is_taken_once() {
        let (post, waker) = (Post::default(), noop_waker());
        assert!(wakes(
            |task| assert!(post.poll_answer(task).is_pending()),
            || assert_eq!(post.send(7), None)
        ));
        let task = Context::from_waker(&waker);
        assert_eq!(post.poll_answer(&task), Poll::Ready(Some(7)));
        assert_eq!(post.poll_answer(&task), Poll::Ready(None));
    }

    #[test]
    fn whoever_answers_hears_when_nobody_waits_any_more_and_gets_the_answer_back() {
        let (post, waker) = (Post::default(), noop_waker());
        assert!(wakes(
            |task| assert!(post.poll_closed(task).is_pending()),
            || assert_eq!(post.close(), None)
        ));
        assert!(post.poll_closed(&Context::from_waker(&waker)).is_ready());
        assert_eq!(post.send(7), Some(7));
    }

    #[test]
    fn an_answer_that_is_not_wanted_stays_for_the_next_who_asks() {
        let post = Post::<u8>::default();
        assert_eq!(post.take_as(Ok::<u8, u8>), None);
        assert_eq!(post.send(7), None);
        assert_eq!(post.take_as(Err::<u8, u8>), None);
        assert_eq!(post.take_as(Ok::<u8, u8>), Some(7));
    }

    #[test]
    fn an_answer_that_nobody_took_is_given_back_when_the_reader_goes() {
        let post = Post::default();
        assert_eq!(post.send(7), None);
        assert_eq!(post.close(), Some(7));
    }

    #[test]
    fn whoever_waits_hears_when_there_will_be_no_answer() {
        let (post, waker) = (Post::<u8>::default(), noop_waker());
        assert!(wakes(|task| assert!(post.poll_answer(task).is_pending()), || post.leave()));
        assert_eq!(post.poll_answer(&Context::from_waker(&waker)), Poll::Ready(None));
    }
}
