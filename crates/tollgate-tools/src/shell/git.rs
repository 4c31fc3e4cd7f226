//! What a repository could have git run, switched off; and what git's own words must fulfil to only read.

use super::{Why, options::Parsed};

/// Settings that a repository can use to run a program, each with the value that runs none.
const SETTINGS: &[(&str, &str)] = &[
    ("core.fsmonitor", "false"),
    ("core.hooksPath", "/dev/null"),
    ("core.pager", "cat"),
    ("core.editor", "false"),
    ("core.askPass", ""),
    ("core.sshCommand", "false"),
    ("core.gitProxy", ""),
    ("core.alternateRefsCommand", "false"),
    ("diff.autoRefreshIndex", "false"),
    ("interactive.diffFilter", ""),
    ("credential.helper", ""),
    ("gpg.program", "false"),
    ("gpg.openpgp.program", "false"),
    ("gpg.ssh.program", "false"),
    ("gpg.x509.program", "false"),
    ("log.showSignature", "false"),
    ("uploadpack.packObjectsHook", ""),
    ("protocol.allow", "never"),
    ("maintenance.auto", "false"),
    ("gc.auto", "0"),
    ("submodule.recurse", "false"),
];

/// Variables for a command that was found to only read: git takes no lock, starts no pager, hook, monitor, editor or
/// helper of the repository's choice, and fetches nothing.
pub fn neutral_environment() -> Vec<(String, String)> {
    let fixed = [
        ("GIT_OPTIONAL_LOCKS", "0"),
        ("GIT_PAGER", "cat"),
        ("PAGER", "cat"),
        ("GIT_EDITOR", "false"),
        ("GIT_ASKPASS", "false"),
        ("SSH_ASKPASS", "false"),
        ("GIT_TERMINAL_PROMPT", "0"),
        ("GIT_NO_LAZY_FETCH", "1"),
        ("GIT_ATTR_NOSYSTEM", "1"),
    ];
    let mut variables: Vec<_> = fixed.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
    variables.push(("GIT_CONFIG_COUNT".to_owned(), SETTINGS.len().to_string()));
    for (at, (key, value)) in SETTINGS.iter().enumerate() {
        variables.push((format!("GIT_CONFIG_KEY_{at}"), (*key).to_owned()));
        variables.push((format!("GIT_CONFIG_VALUE_{at}"), (*value).to_owned()));
    }
    variables
}

/// `-c key=value` that changes nothing but how things look.
pub(super) fn given(name: &str, parsed: &Parsed<'_>) -> Result<(), Why> {
    let known = |value: &str| {
        let (key, value) = value.split_once('=').unwrap_or((value, ""));
        let key = key.to_ascii_lowercase();
        let word =
            !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
        match key.as_str() {
            "core.pager" => value == "cat",
            "core.fsmonitor" | "log.showsignature" => value == "false",
            "core.quotepath"
            | "diff.renames"
            | "log.decorate"
            | "log.date"
            | "diff.noprefix"
            | "core.abbrev"
            | "advice.detachedhead"
            | "status.short"
            | "column.ui"
            | "diff.mnemonicprefix"
            | "diff.algorithm" => word,
            key => key.starts_with("color.") && word,
        }
    };
    for value in parsed.values("-c") {
        let value = value.ok_or_else(|| Why::Dynamic(format!("{name} -c")))?;
        if !known(value) {
            return Err(Why::option(name, &format!("-c {value}")));
        }
    }
    Ok(())
}

/// Formats that show signatures start the program that checks them.
pub(super) fn formats(name: &str, parsed: &Parsed<'_>) -> Result<(), Why> {
    for (option, value) in parsed.every_value() {
        if !matches!(option, "--format" | "--pretty" | "--sort") {
            continue;
        }
        let value = value.ok_or_else(|| Why::Dynamic(format!("{name} {option}")))?;
        // A name without a percent sign may be an alias from the configuration.
        let plain =
            ["", "oneline", "short", "medium", "full", "fuller", "reference", "email", "mboxrd", "raw"];
        let own = plain.contains(&value)
            || value.contains('%')
            || value.starts_with("format:")
            || value.starts_with("tformat:");
        if value.contains("%G") || value.contains("signature") || (option != "--sort" && !own) {
            return Err(Why::operand(name, format!("the format `{value}` may start a program")));
        }
    }
    Ok(())
}

/// `git branch`, `git tag`: a name makes a new one, unless the command lists.
pub(super) fn lists(name: &str, parsed: &Parsed<'_>) -> Result<(), Why> {
    formats(name, parsed)?;
    let listing = ["--list", "--contains", "--no-contains", "--merged", "--no-merged", "--points-at"];
    // In an old git, `branch -l name` makes a branch.
    let short = name.ends_with("tag") && parsed.has("-l");
    if parsed.operands.is_empty() || short || listing.iter().any(|option| parsed.has(option)) {
        Ok(())
    } else {
        Err(Why::operand(name, "a name makes a new one; --list shows those that match"))
    }
}

/// `git config`: one that asks. A name with a value sets it.
pub(super) fn config(name: &str, parsed: &Parsed<'_>) -> Result<(), Why> {
    let asks =
        ["--get", "--get-all", "--get-regexp", "--get-urlmatch"].iter().any(|option| parsed.has(option));
    let lists = parsed.has("-l") || parsed.has("--list");
    let first = parsed.operands.first().and_then(|word| word.text());
    let count = parsed.operands.len();
    let good = match first {
        _ if lists => count == 0,
        _ if asks => (1..=2).contains(&count),
        Some("list") => count == 1,
        Some("get") => count == 2,
        Some(key) => count == 1 && key.contains('.'),
        None => false,
    };
    if good { Ok(()) } else { Err(Why::operand(name, "it is not clear that it only asks")) }
}

/// `git remote show`: a name makes it ask the server, unless `-n` says not to.
pub(super) fn remote_show(name: &str, parsed: &Parsed<'_>) -> Result<(), Why> {
    if parsed.operands.is_empty() || parsed.has("-n") {
        Ok(())
    } else {
        Err(Why::operand(name, "it asks the server"))
    }
}
