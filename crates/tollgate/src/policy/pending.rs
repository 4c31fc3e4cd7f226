//! A question that waits for somebody elsewhere: whole, so that whoever answers sees what they answer.

use std::{
    path::PathBuf,
    sync::Arc,
    time::{Duration, SystemTime},
};

use futures_util::future::BoxFuture;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Answer, Confirmed, Digest, Grant, Lifetime, Query, Question, Reach, Stance, fits};

/// A question with everything there is to see about it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Pending {
    /// What it is answered by.
    pub id: String,
    /// What a yes is bound to.
    pub digest: Digest,
    /// The run and the call.
    pub run: String,
    /// The call's id.
    pub call: String,
    /// The tool.
    pub tool: String,
    /// The final arguments, whole.
    pub args: Value,
    /// What it would do.
    pub effects: Value,
    /// Who proposes.
    pub caller: String,
    /// On which route.
    pub route: Option<String>,
    /// The folder relative paths start from.
    pub cwd: PathBuf,
    /// The folders the call may touch.
    pub roots: Vec<PathBuf>,
    /// How well what runs is kept apart.
    pub sandbox: Option<Arc<str>>,
    /// The rule that asks and where it stands, where one does.
    pub rule: Option<(String, String)>,
    /// Why it is asked.
    pub reason: String,
    /// How far an Always or a Never could reach, the narrowest first.
    pub reaches: Vec<Reach>,
    /// When it was asked, in milliseconds since 1970.
    pub asked_ms: u64,
    /// When it can no longer be answered, in milliseconds since 1970.
    pub expires_ms: u64,
}

/// What somebody elsewhere says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "answer", rename_all = "snake_case", deny_unknown_fields)]
pub enum Reply {
    /// Run exactly this, once.
    Yes,
    /// Do not run it.
    No {
        /// A word for the model.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message: Option<String>,
    },
    /// Run it, and what these rules mean from now on.
    Always {
        /// The rules, without a stance.
        rules: Vec<String>,
        /// For how long.
        lifetime: Lifetime,
    },
    /// Do not run it, and never what these rules mean.
    Never {
        /// The rules, without a stance.
        rules: Vec<String>,
        /// For how long.
        lifetime: Lifetime,
    },
}

/// Why a question was not answered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotAnswered {
    /// No question of that id waits.
    #[error("no question {0:?} waits for an answer")]
    Unknown(String),
    /// It waited too long.
    #[error("the question {0:?} is too old to be answered")]
    Expired(String),
    /// Somebody was quicker, or its call was given up.
    #[error("the question {0:?} is over: it was answered already, or its call was given up")]
    Over(String),
    /// The place where questions are kept failed.
    #[error("the questions cannot be reached: {0}")]
    Desk(String),
}

/// A place where questions of one process wait for answers from another.
///
/// An answer is given once and used once, for the call with exactly the digest it was asked about.
pub trait Desk: Send + Sync + 'static {
    /// Leaves a question and says under which id; the same question again keeps its id.
    fn park<'a>(&'a self, pending: &'a Pending) -> BoxFuture<'a, Result<String, NotAnswered>>;

    /// Every question that waits, the oldest first.
    fn list(&self) -> BoxFuture<'_, Result<Vec<Pending>, NotAnswered>>;

    /// Answers a question, once.
    fn answer<'a>(&'a self, id: &'a str, reply: &'a Reply) -> BoxFuture<'a, Result<Pending, NotAnswered>>;

    /// Uses up the answer for the call with this digest, where there is one that is still good.
    fn take<'a>(&'a self, digest: &'a Digest) -> BoxFuture<'a, Result<Option<Reply>, NotAnswered>>;
}

impl Pending {
    /// The whole question, to be answered within `life`.
    pub fn of(question: &Question<'_>, id: impl Into<String>, life: Duration) -> Self {
        let scope = question.scope;
        let asked_ms = now_ms();
        Self {
            id: id.into(),
            digest: question.digest.clone(),
            run: scope.run.id().as_str().to_owned(),
            call: question.call.as_str().to_owned(),
            tool: question.tool.id.to_string(),
            args: question.args.clone(),
            effects: serde_json::to_value(question.effects).unwrap_or_default(),
            caller: scope.caller.as_str().to_owned(),
            route: scope.route.as_ref().map(|route| route.as_str().to_owned()),
            cwd: scope.cwd().to_owned(),
            roots: scope.roots().to_vec(),
            sandbox: scope.sandbox.word().map(Arc::from),
            rule: question.rule.as_ref().map(|rule| (rule.text.to_string(), rule.source.to_string())),
            reason: question.reason.to_string(),
            reaches: question.reaches(),
            asked_ms,
            expires_ms: asked_ms.saturating_add(u64::try_from(life.as_millis()).unwrap_or(u64::MAX)),
        }
    }

    /// True when it can no longer be answered.
    pub fn is_expired(&self) -> bool {
        now_ms() >= self.expires_ms
    }
}

impl Reply {
    /// The answer to the question this call is about. Rules that do not mean the call are no answer to it.
    pub fn about(self, query: &Query<'_>) -> Answer {
        let grant = |stance: Stance, rules: Vec<String>, lifetime| {
            let unfit = rules.iter().find_map(|rule| fits(stance, rule, query, Confirmed::Yes).err());
            match unfit {
                Some(why) => Err(Answer::No(Some(format!("the answer could not be used: {why}")))),
                None if rules.is_empty() => Err(Answer::No(Some("the answer names no rule".to_owned()))),
                None => Ok(Grant { rules, lifetime }),
            }
        };
        match self {
            Self::Yes => Answer::Yes,
            Self::No { message } => Answer::No(message),
            Self::Always { rules, lifetime } => {
                grant(Stance::Grant, rules, lifetime).map_or_else(|no| no, Answer::Always)
            }
            Self::Never { rules, lifetime } => {
                grant(Stance::Deny, rules, lifetime).map_or_else(|no| no, Answer::Never)
            }
        }
    }
}

fn now_ms() -> u64 {
    let since = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
