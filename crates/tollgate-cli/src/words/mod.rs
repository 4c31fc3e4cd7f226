//! Words for people: data on stdout, talk on stderr, plain and short.

use std::io::{ErrorKind, Write as _};

use serde::Serialize;

use tollgate::policy::config::Trust;

use crate::{args::Shared, config::Config, exit::Fault, mocks::Loaded};

mod visible;
mod names;
mod answer;
mod forecast;

pub(crate) use answer::{answer, trusting};
pub(crate) use forecast::{Ways, decision, effects, forecast, plan, touched};
pub(crate) use names::{did_you_mean, no_tools};
pub(crate) use visible::{is_hidden, visible};

/// Writes data to stdout, ended by a line break. A reader that went away wants no more: that is no error.
pub(crate) fn data(text: &str) -> Result<(), Fault> {
    let mut out = std::io::stdout().lock();
    let end = if text.ends_with('\n') { "" } else { "\n" };
    let written = out.write_all(text.as_bytes()).and_then(|()| out.write_all(end.as_bytes()));
    match written.and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(Fault::machine("writing to stdout", &error))
        }
        _ => Ok(()),
    }
}

/// Says one thing on stderr. When nobody listens there, there is nobody to tell that to.
pub(crate) fn talk(line: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{line}");
}

/// What a command has done, for whoever reads: words on stderr for a person, an object on stdout for a program.
pub(crate) fn done(shared: &Shared, line: &str, object: &impl Serialize) -> Result<(), Fault> {
    if shared.json {
        return data(&json(object));
    }
    talk(line);
    Ok(())
}

/// One object on one line.
pub(crate) fn json(value: &impl Serialize) -> String {
    // What we print is made of texts, numbers and lists: there is nothing in it that JSON could not say.
    serde_json::to_string(value).unwrap_or_default()
}

/// Says what a project's file would let run and does not, since nobody trusts it.
pub(crate) fn inert(config: &Config) {
    for file in &config.loaded.files {
        let own = |rule: &&tollgate::policy::Rule| rule.source().starts_with(&*file.path.to_string_lossy());
        let inert = config.loaded.inert.iter().filter(own).count();
        if inert > 0 {
            let why = if file.trust == Trust::Changed {
                "has changed since it was trusted"
            } else {
                "is not trusted"
            };
            let path = file.path.display();
            talk(&format!("note: {path} {why}: {inert} of its rules do nothing until `tollgate trust`."));
        }
    }
}

/// How many tools that were set aside are named one by one.
const NAMED: usize = 10;

/// Names the tools that could not be used, and what of the others counts for nothing.
pub(crate) fn set_aside(loaded: &Loaded) {
    for (file, note) in loaded.notes().take(NAMED) {
        talk(&format!("note: {}: {}", file.display(), visible(note)));
    }
    for (file, aside) in loaded.set_aside().take(NAMED) {
        talk(&format!("note: set aside from {}: {}", file.display(), visible(&aside.to_string())));
    }
    let more = loaded.set_aside().skip(NAMED).count();
    if more > 0 {
        talk(&format!("note: and {more} more; `tollgate doctor` with the same --mocks names them all."));
    }
}

/// An entry of a report: a word of its own, `WIDTH` wide, then what there is to say of it, each line below the first.
pub(crate) fn entry<const WIDTH: usize>(word: &str, text: &str) -> String {
    let lines: Vec<_> = text.lines().map(visible).collect();
    let indent = format!("\n{:1$}", "", WIDTH + 3);
    format!("  {word:<WIDTH$} {}", lines.join(&indent))
}
