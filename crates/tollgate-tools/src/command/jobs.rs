//! `jobs`: lists, reads, waits for and stops commands that run on.

use std::{sync::Arc, time::Duration};

use serde::Deserialize;
use serde_json::{Value, json};
use tollgate::{Cx, Effects, Failure, Output, Refusal, Scope, Tool, ToolSpec, outcome::RefusalCode};

use super::{Shell, job::Job, transcript::Stream, words};
use crate::builtin::builtin;

pub(super) const NAMES: &[&str] = &["jobs"];

/// The tool `jobs`.
#[derive(Debug)]
pub struct JobsTool(pub(super) Arc<Shell>);

/// What to do, and with which job.
#[derive(Debug, Deserialize)]
pub struct Args {
    action: Action,
    job: Option<u32>,
    timeout_ms: Option<u64>,
    encoding: Option<Encoding>,
    stream: Option<Named>,
    offset: Option<u64>,
    limit: Option<usize>,
}

/// How what a job said is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Encoding {
    Text,
    Base64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Named {
    Stdout,
    Stderr,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Action {
    List,
    Read,
    Wait,
    Stop,
}

/// How long `wait` waits where the call does not say.
const USUAL: Duration = Duration::from_secs(60);
/// How many bytes `read` gives where the call does not say.
const USUAL_BYTES: usize = 64 << 10;

impl Args {
    fn asks_for_bytes(&self) -> bool {
        self.encoding == Some(Encoding::Base64)
            || self.stream.is_some()
            || self.offset.is_some()
            || self.limit.is_some()
    }
}

impl Tool for JobsTool {
    type Args = Args;

    fn spec(&self) -> ToolSpec {
        let schema = json!({
            "type": "object",
            "properties": {
                "action": { "enum": ["list", "read", "wait", "stop"], "description": "What to do." },
                "job": { "type": "integer", "minimum": 1, "description": "The number of the job, for everything but list." },
                "timeout_ms": { "type": "integer", "minimum": 1, "maximum": 110_000, "description": "How long to wait, 60000 unless given." },
                "encoding": { "enum": ["text", "base64"], "description": "For read: base64 gives the bytes of one stream as they were." },
                "stream": { "enum": ["stdout", "stderr"], "description": "For base64: which stream, stdout unless given." },
                "offset": { "type": "integer", "minimum": 0, "description": "For base64: the first byte, 0 unless given." },
                "limit": { "type": "integer", "minimum": 1, "maximum": 1_048_576, "description": "For base64: how many bytes, 65536 unless given." }
            },
            "required": ["action"],
            "additionalProperties": false
        });
        let description = "Commands that `shell` left running: list them, read what one has said so far, wait for its end, stop it \
                           with everything it started.";
        builtin(NAMES, description, schema, |spec| {
            spec.capability = Some("shell.jobs".into());
            // They are the caller's own commands, each permitted when it started.
            spec.requires_permission = false;
        })
    }

    fn effects(&self, _: &Scope, args: &Args) -> Effects {
        match args.action {
            Action::Stop => Effects::writing(),
            Action::List | Action::Read | Action::Wait => Effects::reading(),
        }
    }

    async fn check(&self, _: &Scope, args: &Args) -> Result<(), Refusal> {
        let invalid = |reason: String| Err(Refusal::new(RefusalCode::InvalidValue, reason));
        match (args.action, args.job) {
            (action, _) if action != Action::Read && args.asks_for_bytes() => invalid(
                "`encoding`, `stream`, `offset` and `limit` are for {\"action\": \"read\"}.".to_owned(),
            ),
            (Action::Read, _) if args.asks_for_bytes() && args.encoding != Some(Encoding::Base64) => invalid(
                "`stream`, `offset` and `limit` count bytes: say \"encoding\": \"base64\" with them."
                    .to_owned(),
            ),
            (Action::List, _) => Ok(()),
            (_, None) => invalid("Say which `job`; {\"action\": \"list\"} shows them.".to_owned()),
            (_, Some(number)) if self.0.jobs.get(number).is_none() => {
                let known: Vec<_> = self.0.jobs.list().iter().map(|(number, _)| number.to_string()).collect();
                let known = if known.is_empty() {
                    "there are none".to_owned()
                } else {
                    format!("there are {}", known.join(", "))
                };
                invalid(format!("There is no job {number}: {known}."))
            }
            _ => Ok(()),
        }
    }

    async fn run(&self, cx: &Cx, args: &Args) -> Result<Output, Failure> {
        let Some(number) = args.job.filter(|_| args.action != Action::List) else {
            let jobs = self.0.jobs.list();
            return Ok(Output::json(
                json!({ "jobs": jobs.iter().map(|(number, job)| line(*number, job)).collect::<Vec<_>>() }),
            ));
        };
        let gone = || Failure::fatal(format!("Job {number} is not remembered any more."));
        let job = self.0.jobs.get(number).ok_or_else(gone)?;
        match args.action {
            Action::Stop => drop(job.end().await),
            Action::Wait => {
                let limit = args.timeout_ms.map_or(USUAL, Duration::from_millis);
                tokio::select! {
                    _ = job.ended() => {}
                    () = cx.cancelled() => {}
                    () = tokio::time::sleep(limit) => {}
                }
            }
            Action::Read if args.encoding == Some(Encoding::Base64) => {
                let stream = if args.stream == Some(Named::Stderr) { Stream::Err } else { Stream::Out };
                let limit = args.limit.unwrap_or(USUAL_BYTES);
                let raw = job.transcript().raw(stream, args.offset.unwrap_or(0), limit);
                return Ok(Output::json(words::raw(number, stream, &raw)).untrusted());
            }
            Action::Read | Action::List => {}
        }
        Ok(self.0.told(&job, Some(number), Vec::new()))
    }
}

fn line(number: u32, job: &Job) -> Value {
    let over = job.over();
    json!({
        "job": number,
        "command": job.command,
        "status": if over.is_some() { "ended" } else { "running" },
        "exit_code": over.and_then(|over| over.code),
        "said_bytes": job.transcript().total(),
    })
}
