//! `policy lint`: what is odd about the rules in force, and about what is inert.

use tollgate::{
    ToolSpec,
    policy::{Oddity, lint},
};

use crate::{
    args::{Environment, Shared},
    config::Config,
    exit::{Exit, Fault},
    mocks::Loaded,
    words, world,
};

pub(super) fn run(strict: bool, shared: &Shared) -> Result<Exit, Fault> {
    let roots = world::roots(shared)?;
    let config = Config::load(shared, &Environment::read(), &world::working_folder(&roots))?;
    let loaded = Loaded::definitions(&shared.mocks)?;
    words::set_aside(&loaded);
    if loaded.is_empty() {
        words::talk("note: no tools are loaded, so names are not looked at; give --mocks FILE.");
    }
    let tools: Vec<&ToolSpec> = loaded.registry.specs().collect();
    let found = lint(&config.policy.rules(), &tools);
    if !found.is_empty() {
        let lines: Vec<_> = found.iter().map(|oddity| line(oddity, shared.json)).collect();
        words::data(&lines.join("\n"))?;
    }
    words::talk(&format!("{} to look at.", found.len()));
    Ok(if strict && !found.is_empty() { Exit::Failed } else { Exit::Done })
}

fn line(oddity: &Oddity, json: bool) -> String {
    if json {
        return words::json(oddity);
    }
    let Oddity { rule, message, fix, .. } = oddity;
    words::entry::<4>("rule", &format!("{}   {}\n{message}\nfix: {fix}", rule.text, rule.source))
}
