//! A recorded conversation that can be had again, without a key and without a network.
//!
//! A cassette is a transcript, one JSON object a line, easy to read and to write by hand:
//!
//! ```text
//! {"cassette":1,"provider":"anthropic","model":"anthropic:claude-sonnet-4-5"}
//! {"user":"make the tests pass"}
//! {"assistant":"I look first.","calls":[{"id":"c1","name":"read","input":{"path":"src/lib.rs"}}]}
//! {"result":"c1","status":"ok"}
//! {"assistant":"Done: the tests pass.","usage":{"input_tokens":812,"output_tokens":9}}
//! ```
//!
//! | line | fields |
//! |---|---|
//! | first | `cassette` (1), `provider` (`anthropic`, `openai-responses`, `openai-chat`); `model` and `about` for people |
//! | `user` | a text the model is shown |
//! | `result` | the id of a call; `status` (`ok`; or `refused`, `retryable_error`, `fatal_error`, `unknown`, or `error` for any of those), `code`, and `says`, a part of its text: each looked at only where it is given |
//! | `assistant` | the text; `calls` of `id`, `name` and `input` (an object, or a text where it is meant to be none), `stop` (`max_tokens`, `refusal`, `content_filter`), `usage` |
//! | `fails` | a reply that fails: the kind of [`ErrorKind`](crate::model::ErrorKind) as a word, and `message` |
//!
//! What stands before an `assistant` or `fails` line is what the model must have been shown since its last turn.
//! **What is compared:** the ids of results, and what their lines say of them; that each `user` text stands in what
//! the user's side said, whatever stands around it. Not compared: what tools said beyond that, the system text, the
//! tools, and everything before the model's last turn. Space counts as space, however much of it. Times, durations,
//! hashes and the place of the folder may differ: `{{anything}}` in a `user` or `says` text stands for any text, and
//! the [`Places`] that the program names are put in where a cassette says `{{name}}`, in calls too.
//!
//! Replies are given in any order that fits, each once: so several conversations (sub-agents) share a cassette, and a
//! resumed one goes on where it was. Where none fits, the conversation has departed, and the error says where.

mod tape;
mod places;
mod shown;
mod fit;
mod player;
mod recorder;

pub use places::Places;
pub use player::Cassette;
pub use recorder::Recorder;
