//! `tools lint`: what good tool design asks for and these tools do not have.

use tollgate::{
    catalog::lint::{Finding, Level, Subject, lint},
    schema::Provider,
};

use super::Catalogue;
use crate::{
    args::Lint,
    exit::{Exit, Fault},
    words,
};

pub(super) fn run(catalogue: &Catalogue, asked: &Lint) -> Result<Exit, Fault> {
    let providers =
        asked.target.target().map_or_else(|| Provider::ALL.to_vec(), |target| vec![target.provider]);
    let tools = catalogue.snapshot.reachable(catalogue.route.as_ref());
    let findings: Vec<_> = tools
        .flat_map(|(label, spec)| {
            let declared = catalogue.loaded.declared.get(label);
            lint(Subject { label, spec, declared, providers: &providers })
        })
        .collect();
    if !findings.is_empty() {
        let lines: Vec<_> = findings.iter().map(|finding| line(finding, catalogue.json)).collect();
        words::data(&lines.join("\n"))?;
    }
    let warnings = findings.iter().filter(|finding| finding.level == Level::Warning).count();
    words::talk(&format!("{warnings} to change, {} to know.", findings.len() - warnings));
    Ok(if asked.deny && warnings > 0 { Exit::Failed } else { Exit::Done })
}

fn line(finding: &Finding, json: bool) -> String {
    if json {
        return words::json(finding);
    }
    let level = match finding.level {
        Level::Warning => "warning",
        Level::Info => "info",
    };
    let text = format!(
        "{}: {} ({})\nfix: {}",
        finding.tool,
        finding.message.replace('\n', " "),
        finding.rule,
        finding.fix
    );
    words::entry::<7>(level, &text)
}
