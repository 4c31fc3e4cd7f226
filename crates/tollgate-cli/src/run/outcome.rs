//! How a run ends: the exit code, and the line that says why and what to do.

use tollgate_agent::StopReason;

use crate::exit::Exit;

/// Faults that the person puts right on the command line, in the environment or in a file it names.
const USAGE: [&str; 4] = ["bad_model_name", "no_key", "bad_url", "bad_cassette"];

/// The exit code of a task.
pub(crate) fn exit(reason: &StopReason) -> Exit {
    match reason {
        StopReason::Done | StopReason::Reported => Exit::Done,
        StopReason::Refused { .. } | StopReason::Filtered => Exit::Refused,
        StopReason::NeedsPerson { .. } => Exit::NeedsPerson,
        StopReason::Interrupted => Exit::Interrupted,
        StopReason::ProviderFailed(fault) if USAGE.contains(&fault.kind.as_str()) => Exit::Usage,
        StopReason::ProviderFailed(_)
        | StopReason::TurnLimit { .. }
        | StopReason::Budget { .. }
        | StopReason::Repetition
        | StopReason::ContextFull
        | StopReason::CutShort { .. }
        | StopReason::NotKept { .. } => Exit::Failed,
    }
}

/// Why the task is over and what to do, where it is not simply done.
pub(crate) fn told(reason: &StopReason, session: Option<&str>) -> Option<String> {
    if reason.is_done() {
        return None;
    }
    let word = if *reason == StopReason::Interrupted { "" } else { "error: " };
    let resume = session.map(|id| format!("`tollgate run --resume {id}` goes on."));
    let hint = match (reason, resume) {
        (StopReason::ProviderFailed(_) | StopReason::NotKept { .. }, _) | (_, None) => {
            reason.hint().to_owned()
        }
        (StopReason::Interrupted, Some(resume)) => resume,
        (_, Some(resume)) => format!("{} {resume}", reason.hint()),
    };
    Some(format!("{word}{}\nhint: {hint}", reason.sentence()))
}
