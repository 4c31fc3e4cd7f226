//! How far trust in commands goes: exactly these words, then a program and its subcommand.

use super::{Care, Reach, care};
use crate::{
    policy::{Query, rule::quoted},
    tool::{Access, Resource},
};

pub(super) fn reaches(query: &Query<'_>, commands: &[&[String]]) -> Vec<Reach> {
    if commands.iter().any(|command| care(command) == Care::Never) {
        return Vec::new();
    }
    let beside = redirected(query, commands);
    let exact: Vec<String> = commands.iter().map(|command| exactly(command)).collect();
    let wide: Vec<String> = commands.iter().map(|command| widely(command)).collect();
    let told = |rules: &[String]| {
        let inner = rules.iter().map(|rule| rule.trim_start_matches("shell(").trim_end_matches(')'));
        inner.map(|rule| rule.trim_end_matches(" *")).collect::<Vec<_>>().join("`, `")
    };
    let all = |rules: Vec<String>| rules.into_iter().chain(beside.iter().cloned()).collect();
    let plural = if commands.len() > 1 { "exactly these commands" } else { "exactly this command" };
    vec![
        Reach { title: plural.to_owned(), rules: all(exact) },
        Reach { title: format!("`{}` with any further words", told(&wide)), rules: all(wide) },
    ]
}

fn exactly(command: &[String]) -> String {
    format!("shell({})", joined(command))
}

/// The program and its subcommand with any further words; exactly the command where that would be too far.
fn widely(command: &[String]) -> String {
    let words = match care(command) {
        Care::Free => 1,
        Care::Subcommand(words) => 1 + words,
        Care::Exact | Care::Never => return exactly(command),
    };
    let kept = command.get(..words);
    let plain = |word: &String| {
        word.chars().all(|c| c.is_alphanumeric() || "_-:.".contains(c)) && !word.starts_with('-')
    };
    match kept {
        Some(kept) if kept[1..].iter().all(plain) => format!("shell({} *)", joined(kept)),
        _ => exactly(command),
    }
}

fn joined(words: &[String]) -> String {
    words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
}

/// What is written or reached beside the commands, by redirection or by themselves: no word of theirs says so.
fn redirected(query: &Query<'_>, commands: &[&[String]]) -> Vec<String> {
    let said = |text: &str| commands.iter().any(|command| command.iter().any(|word| word == text));
    let beside = query.effects.touches.iter().filter_map(|resource| match resource {
        Resource::Path { path, access: Access::Write } => {
            let path = path.display().to_string();
            let start = if path.starts_with('/') || path.starts_with("./") { "" } else { "./" };
            (!said(&path)).then(|| format!("write({start}{})", globset::escape(&path)))
        }
        Resource::Host { host } => {
            let told = commands.iter().any(|command| command.iter().any(|word| word.contains(host.as_str())));
            (!told).then(|| format!("host({host})"))
        }
        _ => None,
    });
    beside.collect()
}
