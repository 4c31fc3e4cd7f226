//! `tollgate undo`: what the file tools changed last is taken back, and nothing else is touched.

use serde_json::json;
use tollgate_tools::journal::{Done, Step, Undo as How};

use crate::{
    args::{Environment, Shared, Undo},
    builtins,
    exit::{Exit, Fault},
    words::{self, visible},
    world,
};

pub(crate) fn run(undo: &Undo, shared: &Shared) -> Result<Exit, Fault> {
    let scope = world::scope(shared, &Environment::read())?;
    let journal = builtins::journal().ok_or_else(|| {
        let hint = "set TOLLGATE_HOME or HOME, as it was when the changes were made.";
        Fault::usage("nothing says where the journal of changes is", hint)
    })?;
    let how = if undo.preview { How::Preview } else { How::Restore };
    let steps = journal
        .undo(&scope, &undo.paths, undo.count, how)
        .map_err(|error| Fault::machine("reading the journal of changes", &error))?;
    for step in &steps {
        if shared.json { words::data(&as_json(step, how))? } else { tell(step, how)? }
    }
    if steps.is_empty() {
        words::talk("note: no change of the tools is there to take back in these roots.");
    }
    Ok(if steps.iter().all(|step| step.done.is_good()) { Exit::Done } else { Exit::Failed })
}

fn tell(step: &Step, how: How) -> Result<(), Fault> {
    let path = visible(&step.entry.change.path().display().to_string());
    let by = visible(&format!("`{}`, call {}", step.entry.change.tool, step.entry.change.call));
    let would = if how == How::Preview { "would be " } else { "" };
    if !step.diff.is_empty() {
        let lines: Vec<_> = step.diff.lines().map(visible).collect();
        words::data(&lines.join("\n"))?;
    }
    let said = match &step.done {
        Done::Restored => format!("{path}: {would}restored to what it was before {by}"),
        Done::Removed => format!("{path}: {would}removed; {by} had created it"),
        Done::NothingToDo => format!("{path}: already is as it was before {by}"),
        Done::ChangedSince => format!("{path}: left alone; something else changed it after {by}"),
        Done::Failed(why) => format!("{path}: left alone; it could not be taken back: {}", visible(why)),
    };
    words::talk(&said);
    if !step.done.is_good() {
        words::talk("hint: look at the file; what the tools wrote there is not what stands there now.");
    }
    Ok(())
}

fn as_json(step: &Step, how: How) -> String {
    let (done, why) = match &step.done {
        Done::Restored => ("restored", None),
        Done::Removed => ("removed", None),
        Done::NothingToDo => ("nothing_to_do", None),
        Done::ChangedSince => ("changed_since", None),
        Done::Failed(why) => ("failed", Some(why)),
    };
    let path = step.entry.change.path().display().to_string();
    let entry = &step.entry;
    let mut line = json!({"path": path, "done": done, "reason": why, "diff": step.diff, "change": entry});
    if how == How::Preview {
        line["preview"] = true.into();
    }
    words::json(&line)
}
