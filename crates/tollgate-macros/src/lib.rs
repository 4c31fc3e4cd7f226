//! The `#[tool]` attribute: an `async fn` becomes a tool with a schema, and its body reachable only through the
//! path.
//!
//! Read `attribute` (what stands in the brackets), `function` (what the function says) and `expand` (what is
//! written for it), in this order.

use proc_macro::TokenStream;

mod attribute;
mod function;
mod expand;

/// Turns an `async fn add` into a unit struct `add` that implements `Tool`.
///
/// Its arguments are the struct `AddArgs`, with a public field for each parameter. Nothing but the path can call
/// the body any more. Since a unit struct cannot be shadowed, no `let` in its module may have its name.
///
/// - The doc comment is the description the model reads, and it is required. Those of the parameters describe
///   the arguments. `#[serde(..)]` and `#[schemars(..)]` on a parameter are passed on to its field.
/// - An `Option` may be left out by the model. Every parameter arrives by value.
/// - One parameter may be `cx: &Cx`, anywhere; it is no argument.
/// - It returns anything that is `IntoOutput`; where that becomes JSON, its schema is checked on the way out.
///
/// What is not declared is on the safe side: the worst effects, permission needed, no retry.
///
/// | argument | what it declares |
/// |---|---|
/// | `effects = f` | `fn(&Scope, &AddArgs) -> Effects`, or a closure |
/// | `check = f` | `fn(&Scope, &AddArgs) -> Result<(), Refusal>`, or a closure |
/// | `async_check = f` | the same as an `async fn`, in place of `check` |
/// | `authorize = f` | `fn(&Scope, &AddArgs) -> Opinion`, or a closure |
/// | `enabled = f` | `fn() -> bool`, asked between turns |
/// | `name = "other_name"` | another name than the function's |
/// | `aliases("x", "y")` | further names it answers to |
/// | `owner = ".."`, `capability = "files.read"` | whom to ask about it, what it is able to do |
/// | `max_result_chars = 2000`, or `unlimited` | how much of a result the model gets |
/// | `timeout_ms`, `idle_ms`, `connect_ms` | how long it may take, in milliseconds |
/// | `retry = 3` | tries in all, of what failed without effect |
/// | `interrupt = cancel`, or `block` | what a new message of the person does to a running call |
/// | `requires_interaction`, `requires_idempotency_key` | what a call must have |
/// | `waive_permission` | where no rule speaks, a call is judged by its effects |
/// | `deferred`, or `always_load` | whether its schema is in the prompt |
/// | `explicit_only` | not matched by wildcards |
/// | `stop_siblings` | a fatal end stops the calls beside it |
/// | `inline` | quick and never blocking: runs on the task of its call or turn |
/// | `traced("a", "b")` | arguments worth indexing in the trace |
#[proc_macro_attribute]
pub fn tool(arguments: TokenStream, item: TokenStream) -> TokenStream {
    expand::tool(arguments.into(), item.into()).into()
}
