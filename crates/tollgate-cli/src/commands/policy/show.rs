//! `policy show`: every rule in force, from the layer that binds most, and what is inert.

use serde::Serialize;
use tollgate::policy::{Layer, Rule, RuleRef, config::Trust};

use crate::{
    args::{Environment, Shared},
    config::Config,
    exit::{Exit, Fault},
    words, world,
};

#[derive(Serialize)]
struct Shown<'a> {
    #[serde(flatten)]
    rule: RuleRef,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
    in_force: bool,
}

pub(super) fn run(shared: &Shared) -> Result<Exit, Fault> {
    let roots = world::roots(shared)?;
    let config = Config::load(shared, &Environment::read(), &world::working_folder(&roots))?;
    let rules = config.policy.rules();
    if shared.json {
        let shown = |rule: &Rule, in_force| {
            words::json(&Shown { rule: rule.reference(), reason: rule.reason(), in_force })
        };
        let lines = rules.iter().map(|rule| shown(rule, true));
        let lines: Vec<_> = lines.chain(config.loaded.inert.iter().map(|rule| shown(rule, false))).collect();
        if !lines.is_empty() {
            words::data(&lines.join("\n"))?;
        }
        return Ok(Exit::Done);
    }
    words::data(&told(&config, &rules))?;
    Ok(Exit::Done)
}

fn told(config: &Config, rules: &[Rule]) -> String {
    let mut lines = Vec::new();
    for layer in Layer::ALL {
        lines.push(layer.as_str().to_owned());
        for file in config.loaded.files.iter().filter(|file| file.layer == layer) {
            let trust = match (layer, file.trust) {
                (Layer::Project, Trust::Trusted) => " (trusted)",
                (Layer::Project, Trust::Changed) => {
                    " (changed since it was trusted: what it would widen is inert)"
                }
                (Layer::Project, Trust::Never) => " (not trusted: what it would widen is inert)",
                _ => "",
            };
            lines.push(words::entry::<5>("file", &format!("{}{trust}", file.path.display())));
        }
        let before = lines.len();
        for rule in rules.iter().filter(|rule| rule.layer() == layer) {
            lines.push(line("rule", rule));
        }
        for rule in config.loaded.inert.iter().filter(|rule| rule.layer() == layer) {
            lines.push(line("inert", rule));
        }
        if lines.len() == before {
            lines.push("  no rules".to_owned());
        }
    }
    if !config.loaded.inert.is_empty() {
        lines.push("hint: read the file, then `tollgate trust` puts what is inert in force.".to_owned());
    }
    lines.join("\n")
}

fn line(word: &str, rule: &Rule) -> String {
    let at = rule.reference();
    let reason = rule.reason().map_or(String::new(), |reason| format!("   {reason:?}"));
    words::entry::<5>(word, &format!("{}   {}{reason}", at.text, at.source))
}
