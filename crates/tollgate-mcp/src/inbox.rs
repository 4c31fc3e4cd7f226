//! Where one task finds what others left for it. Made for every call, so it is small until somebody leaves something.

use std::{
    collections::VecDeque,
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::Poll,
};

use futures_util::task::AtomicWaker;

/// The end where things are left.
pub(crate) struct Inbox<T> {
    left: Mutex<Left<T>>,
    reader: AtomicWaker,
}

struct Left<T> {
    things: VecDeque<T>,
    closed: bool,
}

/// The one who finds them. Gone, nothing more is kept.
pub(crate) struct Reader<T>(Arc<Inbox<T>>);

impl<T> Inbox<T> {
    /// Both ends.
    pub(crate) fn new() -> (Arc<Self>, Reader<T>) {
        let left = Mutex::new(Left { things: VecDeque::new(), closed: false });
        let inbox = Arc::new(Self { left, reader: AtomicWaker::new() });
        (inbox.clone(), Reader(inbox))
    }

    /// Leaves something, after what is there already. False where nobody will find it.
    pub(crate) fn push(&self, thing: T) -> bool {
        self.leave(|things| things.push_back(thing))
    }

    /// Leaves something in the place of what is there already.
    pub(crate) fn replace(&self, thing: T) -> bool {
        self.leave(|things| {
            things.clear();
            things.push_back(thing);
        })
    }

    fn leave(&self, put: impl FnOnce(&mut VecDeque<T>)) -> bool {
        let mut left = self.left();
        if left.closed {
            return false;
        }
        put(&mut left.things);
        drop(left);
        self.reader.wake();
        true
    }

    fn left(&self) -> MutexGuard<'_, Left<T>> {
        self.left.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> Reader<T> {
    /// What is there now, the oldest first.
    pub(crate) fn pop(&mut self) -> Option<T> {
        self.0.left().things.pop_front()
    }

    /// Waits for the next thing.
    pub(crate) async fn next(&mut self) -> T {
        std::future::poll_fn(|task| {
            if let Some(thing) = self.pop() {
                return Poll::Ready(thing);
            }
            self.0.reader.register(task.waker());
            // What was left between the two looks woke nobody.
            self.pop().map_or(Poll::Pending, Poll::Ready)
        })
        .await
    }
}

impl<T> Drop for Reader<T> {
    fn drop(&mut self) {
        let mut left = self.0.left();
        left.closed = true;
        let things = std::mem::take(&mut left.things);
        drop(left);
        drop(things);
    }
}

impl<T> fmt::Debug for Inbox<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Inbox")
    }
}

impl<T> fmt::Debug for Reader<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Reader")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn things_are_found_in_order_whether_they_were_there_before_or_come_later() {
        let (inbox, mut reader) = Inbox::new();
        assert!(inbox.push(1) && inbox.push(2));
        assert_eq!((reader.next().await, reader.next().await), (1, 2));
        let later = inbox.clone();
        let leaving = tokio::spawn(async move { later.push(3) });
        assert_eq!(reader.next().await, 3);
        assert!(leaving.await.unwrap());
        assert_eq!(reader.pop(), None);
    }

    #[test]
    fn only_the_latest_of_what_is_replaced_is_found() {
        let (inbox, mut reader) = Inbox::new();
        assert!(inbox.replace(1) && inbox.replace(2));
        assert_eq!((reader.pop(), reader.pop()), (Some(2), None));
    }

    #[test]
    fn what_nobody_will_find_is_not_kept() {
        let (inbox, reader) = Inbox::new();
        let thing = Arc::new(());
        assert!(inbox.push(thing.clone()));
        drop(reader);
        assert!(!inbox.push(thing.clone()));
        assert_eq!(Arc::strong_count(&thing), 1);
    }
}
