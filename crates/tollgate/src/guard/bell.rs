//! One watch over all calls of a batch: they are woken when something may stop them, or a deadline is there.
//!
//! A timer, and a place in the line of a token, for each of them would take as long as the rest of their wait.

use std::{
    future::Future,
    pin::Pin,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU32, Ordering},
    },
    task::{Context, Wake, Waker},
};

use futures_util::task::AtomicWaker;
use tokio::time::{Instant, Sleep, sleep_until};
use tokio_util::sync::{CancellationToken, WaitForCancellationFuture};

/// Wakes who sits at it. What that means for each of them is theirs to find out.
#[derive(Debug, Default)]
pub(crate) struct Bell {
    rung: AtomicU32,
    seats: Mutex<Seats>,
}

#[derive(Debug, Default)]
struct Seats {
    // As many as ever sat here at the same time.
    taken: Vec<Option<Waker>>,
    free: Vec<usize>,
    // The first deadline of those who sit here; one that left may still be counted.
    first: Option<Instant>,
    // Whoever rings, to be told of a deadline that comes sooner.
    ringer: Option<Waker>,
}

/// A call that waits. It leaves when this is dropped.
#[derive(Debug)]
pub(crate) struct Seat<'a> {
    bell: &'a Bell,
    at: usize,
    heard: u32,
}

impl Bell {
    /// Waits here, at the latest until `until`. The waker stays the same: a call of a batch is polled by the batch alone.
    pub(super) fn sit(&self, waker: &Waker, until: Instant) -> Seat<'_> {
        let mut seats = self.seats();
        seats.wake_at(until);
        let waker = Some(waker.clone());
        let at = match seats.free.pop() {
            Some(at) => {
                seats.taken[at] = waker;
                at
            }
            None => {
                seats.taken.push(waker);
                seats.taken.len() - 1
            }
        };
        Seat { bell: self, at, heard: self.rung.load(Ordering::Acquire) }
    }

    #[cold]
    fn ring(&self) {
        self.rung.fetch_add(1, Ordering::AcqRel);
        let mut seats = self.seats();
        seats.first = None;
        let wakers: Vec<_> = seats.taken.iter().flatten().cloned().collect();
        drop(seats);
        wakers.iter().for_each(Waker::wake_by_ref);
    }

    fn seats(&self) -> MutexGuard<'_, Seats> {
        self.seats.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Seats {
    fn wake_at(&mut self, until: Instant) {
        if self.first.is_none_or(|first| until < first) {
            self.first = Some(until);
            self.ringer.iter().for_each(Waker::wake_by_ref);
        }
    }
}

impl Seat<'_> {
    /// True when it rang since this was last asked.
    pub(super) fn hears(&mut self) -> bool {
        let rung = self.bell.rung.load(Ordering::Acquire);
        std::mem::replace(&mut self.heard, rung) != rung
    }

    /// Waits on, at the latest until `until`.
    pub(super) fn stay(&self, until: Instant) {
        self.bell.seats().wake_at(until);
    }
}

impl Drop for Seat<'_> {
    fn drop(&mut self) {
        let mut seats = self.bell.seats();
        let waker = seats.taken[self.at].take();
        seats.free.push(self.at);
        drop(seats);
        drop(waker);
    }
}

/// Rings when one of its tokens is cancelled, and when the first deadline passes. Whoever polls the calls polls it too.
///
/// It has a waker of its own: it is asked nothing while nothing of what it waits for has happened, however often the
/// calls make their task run.
pub(crate) struct Ringer<'a> {
    bell: &'a Bell,
    tokens: [Option<Pin<Box<WaitForCancellationFuture<'a>>>>; 2],
    alarm: Option<Pin<Box<Sleep>>>,
    called: Arc<Called>,
}

/// Whether the ringer was woken, and for whom it is polled.
struct Called {
    yes: AtomicBool,
    task: AtomicWaker,
}

impl Wake for Called {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.yes.store(true, Ordering::Release);
        self.task.wake();
    }
}

impl<'a> Ringer<'a> {
    pub(crate) fn new(bell: &'a Bell, tokens: [&'a CancellationToken; 2]) -> Self {
        let called = Arc::new(Called { yes: AtomicBool::new(true), task: AtomicWaker::new() });
        bell.seats().ringer = Some(called.clone().into());
        Self { bell, tokens: tokens.map(|token| Some(Box::pin(token.cancelled()))), alarm: None, called }
    }

    /// Looks whether it is time, and has the task woken when it is.
    pub(crate) fn poll(&mut self, task: &Context<'_>) {
        self.called.task.register(task.waker());
        if self.called.yes.swap(false, Ordering::AcqRel) {
            self.look();
        }
    }

    #[cold]
    fn look(&mut self) {
        let waker = self.called.clone().into();
        let task = &mut Context::from_waker(&waker);
        let mut rings = false;
        for token in &mut self.tokens {
            // A token is cancelled once, and whoever sits down later asks it.
            if token.as_mut().is_some_and(|token| token.as_mut().poll(task).is_ready()) {
                *token = None;
                rings = true;
            }
        }
        let Some(first) = self.bell.seats().first else { return self.ring(rings) };
        let alarm = self.alarm.get_or_insert_with(|| Box::pin(sleep_until(first)));
        if alarm.deadline() != first {
            alarm.as_mut().reset(first);
        }
        if alarm.as_mut().poll(task).is_ready() {
            self.alarm = None;
            rings = true;
        }
        self.ring(rings);
    }

    fn ring(&self, rings: bool) {
        if rings {
            self.bell.ring();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use futures_util::task::noop_waker;

    use super::*;

    #[tokio::test]
    async fn there_are_as_many_seats_as_ever_sat_at_the_same_time() {
        let (bell, waker, until) = (Bell::default(), noop_waker(), Instant::now());
        for _ in 0..1_000 {
            let _two = (bell.sit(&waker, until), bell.sit(&waker, until));
        }
        assert_eq!(bell.seats().taken.len(), 2);
    }

    #[tokio::test(start_paused = true)]
    async fn it_rings_at_the_first_deadline_and_goes_on_with_the_next() {
        let (bell, waker, began) = (Bell::default(), noop_waker(), Instant::now());
        let (token, soft) = (CancellationToken::new(), CancellationToken::new());
        let mut ringer = Ringer::new(&bell, [&token, &soft]);
        let mut seat = bell.sit(&waker, began + Duration::from_secs(5));
        let mut sooner = bell.sit(&waker, began + Duration::from_secs(1));
        let mut heard = Vec::new();
        std::future::poll_fn(|task| {
            ringer.poll(task);
            if seat.hears() && sooner.hears() {
                heard.push(began.elapsed().as_secs());
                seat.stay(began + Duration::from_secs(5));
                ringer.poll(task);
            }
            if heard.len() == 2 { std::task::Poll::Ready(()) } else { std::task::Poll::Pending }
        })
        .await;
        assert_eq!(heard, [1, 5]);
    }

    #[tokio::test]
    async fn it_rings_once_for_a_token_that_is_cancelled() {
        let (bell, waker) = (Bell::default(), noop_waker());
        let (token, soft) = (CancellationToken::new(), CancellationToken::new());
        let mut ringer = Ringer::new(&bell, [&token, &soft]);
        let mut seat = bell.sit(&waker, Instant::now() + Duration::from_secs(5));
        let task = Context::from_waker(&waker);
        ringer.poll(&task);
        assert!(!seat.hears());
        soft.cancel();
        ringer.poll(&task);
        assert!(seat.hears());
        ringer.poll(&task);
        assert!(!seat.hears());
    }
}
