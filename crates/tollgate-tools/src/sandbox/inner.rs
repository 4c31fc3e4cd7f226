//! The step inside the bubble: Landlock goes on after bubblewrap has mounted everything, and before the command starts.
//!
//! A process that Landlock holds may mount nothing, so it cannot be put on before. The program that embeds this starts
//! itself there, with [`WORD`] as its first argument, and hands the rest to [`confine`].

use std::{
    ffi::{OsStr, OsString},
    io,
    os::unix::process::CommandExt as _,
    path::PathBuf,
    process::Command,
};

use landlock::RulesetStatus;

use super::{Confined, Walls, rules};

/// The first argument of a program that is started for this step.
pub const WORD: &str = "__confine";
/// Where the bubble has that program.
pub(super) const PLACE: &str = "/.tollgate";
/// What belongs to the bubble alone, and can be changed.
const OWN: [&str; 2] = ["/tmp", "/dev"];

/// The words before those of the command.
pub(super) fn words(walls: &Walls) -> Vec<OsString> {
    let kind = if walls.confined == Confined::Reading { "reading" } else { "writing" };
    let network = if walls.network { "open" } else { "closed" };
    let mut words: Vec<OsString> = [PLACE, WORD, kind, network].map(OsString::from).into();
    let places = [("root", &walls.roots), ("read", &walls.readable), ("write", &walls.writable)];
    for (word, place) in places.into_iter().flat_map(|(word, all)| all.iter().map(move |one| (word, one))) {
        words.extend([OsString::from(word), place.clone().into()]);
    }
    words.push("--".into());
    words
}

/// Puts Landlock on and becomes the command. Gives back only what kept it from that.
pub fn confine(words: impl IntoIterator<Item = OsString>) -> io::Error {
    match held(&mut words.into_iter()) {
        Ok(mut command) => command.exec(),
        Err(error) => error,
    }
}

#[expect(clippy::disallowed_methods, reason = "no process is started: this one becomes the command")]
fn held(words: &mut impl Iterator<Item = OsString>) -> io::Result<Command> {
    let walls = read(words).ok_or_else(|| io::Error::other("this step is for the sandbox alone"))?;
    let program = words.next().ok_or_else(|| io::Error::other("there is no command"))?;
    let status = rules::make(&walls, &OWN.map(PathBuf::from))?.0.restrict_self().map_err(io::Error::other)?;
    if status.ruleset == RulesetStatus::NotEnforced {
        return Err(io::Error::other("Landlock does not hold"));
    }
    let mut command = Command::new(program);
    command.args(words);
    Ok(command)
}

fn read(words: &mut impl Iterator<Item = OsString>) -> Option<Walls> {
    let mut one_of = |no: &str, yes: &str| {
        let word = words.next()?;
        (word == yes).then_some(true).or_else(|| (word == no).then_some(false))
    };
    let confined = if one_of("reading", "writing")? { Confined::Writing } else { Confined::Reading };
    let network = one_of("closed", "open")?;
    let mut walls = Walls::around(Vec::new(), confined);
    walls.network = network;
    loop {
        let word = words.next()?;
        let list = match word.as_os_str() {
            word if word == OsStr::new("--") => return Some(walls),
            word if word == OsStr::new("root") => &mut walls.roots,
            word if word == OsStr::new("read") => &mut walls.readable,
            word if word == OsStr::new("write") => &mut walls.writable,
            _ => return None,
        };
        list.push(words.next()?.into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_to_the_step_is_what_it_reads() {
        let mut walls = Walls::around(vec!["/a b".into(), "--".into()], Confined::Writing);
        walls.readable = vec!["/r".into()];
        walls.writable = vec!["root".into()];
        walls.network = true;
        let mut said = words(&walls).into_iter().skip(2).chain(["bash".into(), "--".into()]);
        assert_eq!(read(&mut said), Some(walls));
        assert_eq!(said.collect::<Vec<_>>(), ["bash", "--"]);
    }

    #[test]
    fn anything_else_is_refused() {
        for words in [&["reading"][..], &["writing", "ajar", "--"], &["writing", "open", "home", "/", "--"]] {
            let error = confine(words.iter().map(OsString::from));
            assert_eq!(error.to_string(), "this step is for the sandbox alone");
        }
    }
}
