//! An answer of the writer on its way: what nobody takes goes back.

/// What came of an op. Whoever waited may go away between the moment it is sent and the moment they look: then it is
/// dropped unseen, and what it granted is given back.
pub(crate) struct Parcel<T> {
    content: Option<T>,
    back: Option<Back<T>>,
}

/// What is done with an answer that nobody took.
pub(crate) type Back<T> = Box<dyn FnOnce(T) + Send>;

impl<T> Parcel<T> {
    pub(crate) fn new(content: T, back: Option<Back<T>>) -> Self {
        Self { content: Some(content), back }
    }

    /// The answer. From here on it is its taker's.
    pub(crate) fn take(mut self) -> Option<T> {
        self.content.take()
    }
}

impl<T> Drop for Parcel<T> {
    fn drop(&mut self) {
        if let (Some(content), Some(back)) = (self.content.take(), self.back.take()) {
            back(content);
        }
    }
}
