//! A tool's metadata: plain data, asked once at registration, with fail-closed defaults.

use std::{sync::Arc, time::Duration};

use serde_json::Value;

use super::{
    effects::Effects,
    memo::Memo,
    name::{BadName, Origin, ToolId, ToolName},
};
use crate::{guard::RetryPolicy, schema::Schema};

/// Everything that is known about a tool before any call of it.
///
/// [`ToolSpec::new`] fills the safe side; each method declares one thing more.
#[derive(Debug, Clone)]
#[non_exhaustive]
#[expect(clippy::struct_excessive_bools, reason = "independent declarations, each read by one part")]
pub struct ToolSpec {
    /// Origin and name.
    pub id: ToolId,
    /// Other names it answers to. Honoured for built-ins only.
    pub aliases: Vec<ToolName>,
    /// What the model reads.
    pub description: Arc<str>,
    /// The people to ask about it.
    pub owner: Option<Arc<str>>,
    /// What it is able to do, as `files.read` or `payments.write`: breakers count by it.
    pub capability: Option<Arc<str>>,
    /// JSON Schema of the arguments.
    pub input_schema: Schema,
    /// JSON Schema of the first JSON item of the output, checked on the way out.
    pub output_schema: Option<Value>,
    /// How much of a result the model gets before the rest is put aside.
    pub max_result: ResultLimit,
    /// How long it may take.
    pub timeouts: Timeouts,
    /// What happens to a running call when the person says something new.
    pub interrupt: Interrupt,
    /// Needs a person at the other end while it runs.
    pub requires_interaction: bool,
    /// Asks where no rule speaks. Waived, such a call is judged by its effects.
    pub requires_permission: bool,
    /// Refuses a call that brings no idempotency key of its own.
    pub requires_idempotency_key: bool,
    /// Whether its schema is in the prompt.
    pub visibility: Visibility,
    /// Not matched by wildcards.
    pub explicit_only: bool,
    /// What a fatal end means for calls that run beside it.
    pub on_fatal: OnFatal,
    /// Whether a retryable error is tried again, and how often.
    pub retry: RetryPolicy,
    /// The body is quick and never blocks a thread, so it runs on the task of its call or turn.
    pub inline: bool,
    /// What it does, it does through calls of its own, each judged and in its own place. So it holds no place in the
    /// workspace while it runs (they could never get one), and never begins before its turn has ended.
    pub conducts: bool,
    /// Arguments worth indexing in the trace.
    pub traced: Vec<Arc<str>>,
    /// The most any call of it does, for those who are told before there is a call. Nothing is decided by it: each
    /// call is judged by its own effects.
    pub at_worst: Effects,
    /// What policy found out about it.
    pub(crate) judged: Memo,
}

/// How much of a result the model gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResultLimit {
    /// At most this many characters; the rest is put aside and can be read by reference.
    Chars(usize),
    /// Never cut. An explicit choice.
    Unlimited,
}

/// How long a call may take. Progress re-arms `idle` and never `total`.
///
/// Where one has passed, and where the call is interrupted, the body is told through its token and has another 250 ms to
/// end by itself; what it says in them counts. Then it is let go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeouts {
    /// Until the tool says it is connected or makes progress.
    pub connect: Option<Duration>,
    /// Between two signs of life.
    pub idle: Option<Duration>,
    /// From start to answer, retries included.
    pub total: Duration,
}

/// What a new message of the person does to a running call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Interrupt {
    /// The call is stopped and answered as interrupted.
    Cancel,
    /// The call finishes first.
    Block,
}

/// Whether a tool's schema is in the prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Visibility {
    /// In the prompt.
    Normal,
    /// Found by search, loaded from the next turn on.
    Deferred,
    /// In the prompt whatever else is deferred.
    AlwaysLoad,
}

/// What a fatal end means for siblings in the same batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnFatal {
    /// Nothing: each call stands alone.
    Isolate,
    /// The others of its batch are stopped.
    StopSiblings,
}

/// The result limit of a tool that does not name one.
pub const DEFAULT_RESULT_CHARS: usize = 25_000;

impl ToolSpec {
    /// A spec with every default on the safe side.
    pub fn new(
        name: &str,
        description: impl Into<Arc<str>>,
        input_schema: impl Into<Schema>,
    ) -> Result<Self, BadName> {
        Ok(Self {
            id: ToolId { origin: Origin::Builtin, name: ToolName::new(name)? },
            aliases: Vec::new(),
            description: description.into(),
            owner: None,
            capability: None,
            input_schema: input_schema.into(),
            output_schema: None,
            max_result: ResultLimit::Chars(DEFAULT_RESULT_CHARS),
            timeouts: Timeouts::default(),
            interrupt: Interrupt::Block,
            requires_interaction: false,
            requires_permission: true,
            requires_idempotency_key: false,
            visibility: Visibility::Normal,
            explicit_only: false,
            on_fatal: OnFatal::Isolate,
            retry: RetryPolicy::NEVER,
            inline: false,
            conducts: false,
            traced: Vec::new(),
            at_worst: Effects::worst(),
            judged: Memo::default(),
        })
    }

    /// The tool's name without its origin.
    pub fn name(&self) -> &str {
        self.id.name.as_str()
    }
}

impl Default for Timeouts {
    fn default() -> Self {
        Self { connect: None, idle: None, total: Duration::from_secs(120) }
    }
}
