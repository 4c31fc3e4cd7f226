//! Several places where questions wait, as one: the store's first, then the folder that is used without a store.

use std::sync::Arc;

use tollgate::{
    BoxFuture,
    policy::{Desk, Digest, NotAnswered, Pending, Reply},
};

/// Never empty. New questions go to the first.
pub(crate) struct Desks(Vec<Arc<dyn Desk>>);

impl Desks {
    pub(crate) fn new(first: Arc<dyn Desk>, more: impl IntoIterator<Item = Arc<dyn Desk>>) -> Self {
        Self(std::iter::once(first).chain(more).collect())
    }
}

impl Desk for Desks {
    fn park<'a>(&'a self, pending: &'a Pending) -> BoxFuture<'a, Result<String, NotAnswered>> {
        self.0[0].park(pending)
    }

    fn list(&self) -> BoxFuture<'_, Result<Vec<Pending>, NotAnswered>> {
        Box::pin(async move {
            let mut all = Vec::new();
            for desk in &self.0 {
                all.append(&mut desk.list().await?);
            }
            all.sort_by_key(|pending| pending.asked_ms);
            Ok(all)
        })
    }

    fn answer<'a>(&'a self, id: &'a str, reply: &'a Reply) -> BoxFuture<'a, Result<Pending, NotAnswered>> {
        Box::pin(async move {
            for desk in &self.0 {
                match desk.answer(id, reply).await {
                    Err(NotAnswered::Unknown(_)) => {}
                    known => return known,
                }
            }
            Err(NotAnswered::Unknown(id.to_owned()))
        })
    }

    /// One that fails does not hide what another has; where none has anything, the failure is told.
    fn take<'a>(&'a self, digest: &'a Digest) -> BoxFuture<'a, Result<Option<Reply>, NotAnswered>> {
        Box::pin(async move {
            let mut fault = None;
            for desk in &self.0 {
                match desk.take(digest).await {
                    Ok(None) => {}
                    Ok(found) => return Ok(found),
                    Err(error) => fault = fault.or(Some(error)),
                }
            }
            fault.map_or(Ok(None), Err)
        })
    }
}
