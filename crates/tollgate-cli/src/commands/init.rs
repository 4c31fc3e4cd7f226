//! `tollgate init`: a short commented `tollgate.toml` for this folder. It allows nothing that is not seen here,
//! and nothing at all until a person trusts it.

use std::{fmt::Write as _, path::Path};

use serde_json::json;
use tollgate::policy::config::FILE_NAME;

use crate::{
    args::{Init, Shared},
    exit::{Exit, Fault},
    words, world,
};

/// What tells a language, what it is called, and the commands that only look or test.
const LANGUAGES: [(&str, &str, &[&str]); 9] = [
    ("Cargo.toml", "Rust", &["cargo check *", "cargo test *", "cargo clippy *", "cargo fmt *"]),
    ("package.json", "JavaScript", &["npm test *"]),
    ("pyproject.toml", "Python", &["pytest *", "ruff check *", "mypy *"]),
    ("setup.py", "Python", &["pytest *"]),
    ("go.mod", "Go", &["go build *", "go test *", "go vet *"]),
    ("pom.xml", "Java", &["mvn test *"]),
    ("build.gradle", "Java", &["gradle test *"]),
    ("mix.exs", "Elixir", &["mix test *"]),
    ("Gemfile", "Ruby", &["bundle exec rspec *"]),
];

/// Where MCP servers are listed.
const SERVERS: [&str; 5] =
    [".mcp.json", "mcp.json", ".cursor/mcp.json", ".vscode/mcp.json", "mcp_config.json"];

pub(crate) fn run(init: &Init, shared: &Shared) -> Result<Exit, Fault> {
    let folder = world::working_folder(&world::roots(shared)?);
    let text = text(&folder);
    let file = folder.join(FILE_NAME);
    let told = |done| json!({"file": file, "done": done, "text": text});
    if init.print {
        words::data(&if shared.json { words::json(&told("printed")) } else { text })?;
        return Ok(Exit::Done);
    }
    let made = std::fs::OpenOptions::new().write(true).create_new(true).open(&file);
    let written = made.and_then(|mut open| std::io::Write::write_all(&mut open, text.as_bytes()));
    match written {
        Ok(()) => {}
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
            let hint = "`tollgate init --print` shows what it would be; nothing was changed.";
            return Err(Fault::usage(format!("there is a {FILE_NAME} already"), hint));
        }
        Err(error) => return Err(Fault::machine("writing tollgate.toml", &error)),
    }
    let line = format!(
        "wrote {}: read it, change it, then `tollgate trust` puts what it allows in force.",
        file.display()
    );
    words::done(shared, &line, &told("written"))?;
    Ok(Exit::Done)
}

fn text(folder: &Path) -> String {
    let here = |name: &str| folder.join(name).exists();
    let found: Vec<_> = LANGUAGES.iter().filter(|(file, ..)| here(file)).collect();
    let mut text = String::from(
        "# What calls may do in this folder. What is denied or asked holds at once; what is allowed holds once a\n\
         # person has read this file and said `tollgate trust`. `tollgate policy show` tells what is in force.\n\n\
         [policy]\n\
         # Looking at what is here. Secrets and files that make code run are asked about all the same.\n\
         allow = [\n    \"read(./**)\",\n",
    );
    if here(".git") {
        text.push_str("    \"shell(git status *)\", \"shell(git diff *)\", \"shell(git log *)\",\n");
    }
    for (file, language, commands) in &found {
        let _ = writeln!(text, "    # {language} ({file}): these run the project's own code.");
        for command in *commands {
            let _ = writeln!(text, "    \"shell({command})\",");
        }
    }
    text.push_str(
        "]\n# Changing what is here: a person says, unless they said Always.\nask = [\"write(./**)\"]\n",
    );
    text.push_str("# Never, whoever asks.\ndeny = [\n    \"read(**/.env)\",\n");
    if here(".git") {
        text.push_str("    \"shell(git push *)\",\n");
    }
    text.push_str("]\n");
    if found.is_empty() {
        text.push_str("# Nothing here tells which language it is: add the commands that build and test it to `allow`.\n");
    }
    for servers in SERVERS.iter().filter(|name| here(name)) {
        let _ = writeln!(
            text,
            "# {servers} lists MCP servers. Their tools ask until a rule as `@server/get_*` allows them."
        );
    }
    text.push_str(
        "\n# A rule with its reason, and examples that are checked when the file is read:\n\
         # [[policy.rule]]\n# do = \"deny\"\n# tool = \"shell(terraform apply *)\"\n\
         # reason = \"Production changes go through the pipeline. Use `terraform plan`.\"\n\
         # matches = [\"terraform apply -auto-approve\"]\n# misses = [\"terraform plan\"]\n",
    );
    text.push_str(
        "\n# How `tollgate run` works here. Limits hold at once, the rest once this file is trusted.\n\
         # [run]\n# max_cost = 2.00\n# max_turns = 50\n# [roles.reviewer]\n\
         # description = \"Reads a change and says what is wrong with it\"\n# tools = [\"read*\", \"grep\", \"glob\"]\n",
    );
    text
}
