//! `[[hook]]` in `tollgate.toml`, read strictly: what is not understood is an error with its place in the file.

use std::{
    collections::HashSet,
    ops::Range,
    path::{Path, PathBuf},
    time::Duration,
};

use serde::Deserialize;
use tollgate::{hook::HookKind, policy::Pattern};
use toml::Spanned;

use crate::section::{BadSection, Wrong, position, variables};

/// One hook, understood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandHookConfig {
    /// The name people know it by.
    pub name: String,
    /// What its failure means.
    pub kind: HookKind,
    /// When it is asked.
    pub on: Vec<On>,
    /// Which tools it looks at; a bare name means every tool of that name.
    pub tools: Vec<Pattern>,
    /// The program; a relative path starts at the folder of the file it stands in.
    pub program: PathBuf,
    /// Its arguments.
    pub args: Vec<String>,
    /// How long it may take.
    pub timeout: Duration,
    /// The variables it gets beside the usual ones.
    pub env: Vec<String>,
    /// How long an answer that says nothing of it may be used again; zero for never.
    pub cache: Duration,
    /// How it answers.
    pub answers: Answers,
    /// The line it begins in.
    pub line: usize,
}

/// When a hook is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum On {
    /// Phase 3, before the call is permitted.
    Before,
    /// Phase 6, after every execution.
    After,
}

/// How a hook answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answers {
    /// As JSON on stdout; saying nothing is a failure.
    Json,
    /// By its exit code alone: 0 pass, 2 block.
    ExitCode,
}

#[derive(Deserialize)]
struct File {
    #[serde(default)]
    hook: Vec<Spanned<Section>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Section {
    name: Spanned<String>,
    kind: Kind,
    on: Spanned<Vec<On>>,
    #[serde(default)]
    tools: Option<Vec<Spanned<String>>>,
    command: Spanned<Vec<String>>,
    #[serde(default)]
    timeout_ms: Option<Spanned<u64>>,
    #[serde(default)]
    env: Vec<Spanned<String>>,
    #[serde(default)]
    cache_ms: Option<Spanned<u64>>,
    #[serde(default)]
    answers: Option<Answers>,
}

#[derive(Deserialize, Clone, Copy)]
#[serde(rename_all = "snake_case")]
enum Kind {
    Gate,
    Observer,
}

const DEFAULT_TIMEOUT_MS: u64 = 10_000;
const LONGEST_TIMEOUT_MS: u64 = 600_000;
/// No answer is used again after this.
pub(super) const LONGEST_CACHE_MS: u64 = 3_600_000;

/// Reads the `[[hook]]` sections of a config file in the folder `base`; other sections are none of its business.
pub fn read(text: &str, base: &Path) -> Result<Vec<CommandHookConfig>, BadSection> {
    let file: File = toml::from_str(text).map_err(|error| {
        let hint =
            "a hook has name, kind, on, command, and may have tools, timeout_ms, env, cache_ms, answers.";
        BadSection::new(text, &error.span().unwrap_or_default(), error.message(), hint)
    })?;
    let mut names = HashSet::new();
    let mut hooks = Vec::new();
    for section in file.hook {
        let at = section.span();
        let section = section.into_inner();
        if !names.insert(section.name.get_ref().clone()) {
            let message = format!("there are two hooks named {:?}", section.name.get_ref());
            let hint = "give each hook a name of its own.";
            return Err(BadSection::new(text, &section.name.span(), message, hint));
        }
        let hook = section.understand(base, position(text, at.start).0);
        hooks.push(hook.map_err(|wrong| BadSection::of(text, wrong))?);
    }
    Ok(hooks)
}

impl Section {
    fn understand(self, base: &Path, line: usize) -> Result<CommandHookConfig, Wrong> {
        let name = self.name.get_ref().trim();
        if name.is_empty() || name.chars().any(char::is_control) {
            return Err((
                self.name.span(),
                "a hook needs a name".to_owned(),
                "name it as you would speak of it.",
            ));
        }
        if self.on.get_ref().is_empty() {
            let message = "a hook that is never asked does nothing".to_owned();
            return Err((self.on.span(), message, "write on = [\"before\"], [\"after\"] or both."));
        }
        let Some((program, args)) =
            self.command.get_ref().split_first().filter(|(program, _)| !program.is_empty())
        else {
            let message = "the command is empty".to_owned();
            return Err((self.command.span(), message, "write command = [\"program\", \"argument\"]."));
        };
        let kind = match self.kind {
            Kind::Gate => HookKind::Gate,
            Kind::Observer => HookKind::Observer,
        };
        Ok(CommandHookConfig {
            name: name.to_owned(),
            kind,
            on: self.on.get_ref().clone(),
            tools: patterns(self.tools)?,
            program: if program.contains('/') { base.join(program) } else { program.into() },
            args: args.to_vec(),
            timeout: milliseconds(self.timeout_ms, DEFAULT_TIMEOUT_MS, 1, LONGEST_TIMEOUT_MS)?,
            env: variables(self.env)?,
            cache: milliseconds(self.cache_ms, 0, 0, LONGEST_CACHE_MS)?,
            answers: self.answers.unwrap_or(match kind {
                // A gate must say what it decided; silence may be a crash. An observer has nothing to say.
                HookKind::Gate => Answers::Json,
                HookKind::Observer => Answers::ExitCode,
            }),
            line,
        })
    }
}

fn patterns(given: Option<Vec<Spanned<String>>>) -> Result<Vec<Pattern>, Wrong> {
    let Some(given) = given else { return pattern("*", 0..0).map(|all| vec![all]) };
    given.into_iter().map(|one| pattern(one.get_ref(), one.span())).collect()
}

fn pattern(text: &str, span: Range<usize>) -> Result<Pattern, Wrong> {
    Pattern::parse(text).map_err(|error| {
        (span, error.to_string(), "a tool is a name, a glob as `rea*`, `@server` or `@server/get_*`.")
    })
}

fn milliseconds(
    given: Option<Spanned<u64>>,
    otherwise: u64,
    least: u64,
    most: u64,
) -> Result<Duration, Wrong> {
    match given {
        None => Ok(Duration::from_millis(otherwise)),
        Some(given) if (least..=most).contains(given.get_ref()) => {
            Ok(Duration::from_millis(*given.get_ref()))
        }
        Some(given) => Err((
            given.span(),
            format!("{} is not from {least} to {most} milliseconds", given.get_ref()),
            "write a number of milliseconds in that range.",
        )),
    }
}
