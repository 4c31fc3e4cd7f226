//! Questions that wait inside this process, to be listed and answered by another task.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use futures_util::future::BoxFuture;
use tokio::sync::{oneshot, watch};

use super::{Answer, Approver, NotAnswered, Pending, Question, Reply};

/// An approver whose questions wait in a list. Clones are the same list.
///
/// Each question is answered once, within its time; after that, and when the call is given up, it is gone.
#[derive(Debug, Clone)]
pub struct Queue(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    life: Duration,
    waiting: Mutex<Waiting>,
    changes: watch::Sender<u64>,
}

#[derive(Debug, Default)]
struct Waiting {
    last: u64,
    questions: BTreeMap<u64, (Pending, oneshot::Sender<Reply>)>,
}

impl Queue {
    /// A list whose questions wait for `life` and are then answered by nobody.
    pub fn new(life: Duration) -> Self {
        Self(Arc::new(Inner { life, waiting: Mutex::default(), changes: watch::Sender::new(0) }))
    }

    /// Every question that waits, the oldest first.
    pub fn list(&self) -> Vec<Pending> {
        self.0.waiting().questions.values().map(|(pending, _)| pending.clone()).collect()
    }

    /// Answers a question. The second answer comes too late.
    pub fn answer(&self, id: &str, reply: Reply) -> Result<Pending, NotAnswered> {
        let number = id.strip_prefix('q').and_then(|digits| digits.parse().ok());
        let known = number.filter(|number| *number <= self.0.waiting().last);
        let Some(number) = known else { return Err(NotAnswered::Unknown(id.to_owned())) };
        let taken = self.0.waiting().questions.remove(&number);
        let Some((pending, to)) = taken else { return Err(NotAnswered::Over(id.to_owned())) };
        self.0.tell();
        if pending.is_expired() || to.send(reply).is_err() {
            return Err(NotAnswered::Expired(id.to_owned()));
        }
        Ok(pending)
    }

    /// Tells when a question came or went; the number grows with each.
    pub fn changed(&self) -> watch::Receiver<u64> {
        self.0.changes.subscribe()
    }
}

impl Inner {
    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tell(&self) {
        self.changes.send_modify(|count| *count += 1);
    }
}

/// Takes a question off the list when nobody waits for its answer any more.
struct Place<'a>(&'a Inner, u64);

impl Drop for Place<'_> {
    fn drop(&mut self) {
        if self.0.waiting().questions.remove(&self.1).is_some() {
            self.0.tell();
        }
    }
}

impl Approver for Queue {
    fn ask<'a>(&'a self, question: Question<'a>) -> BoxFuture<'a, Answer> {
        Box::pin(async move {
            let (to, reply) = oneshot::channel();
            let place = {
                let mut waiting = self.0.waiting();
                waiting.last += 1;
                let number = waiting.last;
                let pending = Pending::of(&question, format!("q{number}"), self.0.life);
                waiting.questions.insert(number, (pending, to));
                Place(&self.0, number)
            };
            self.0.tell();
            let reply = tokio::time::timeout(self.0.life, reply).await;
            drop(place);
            match reply {
                Ok(Ok(reply)) => reply.about(&question.query()),
                Ok(Err(_)) | Err(_) => Answer::Nobody,
            }
        })
    }
}
