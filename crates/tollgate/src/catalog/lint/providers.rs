//! What a provider would not take as it is.

use super::{Finding, Level, Subject, subject::some_of};
use crate::{
    schema::{ReportEntry, Target, project},
    wire::{Provider, WireNames},
};

pub(super) fn provider_name(subject: Subject<'_>) -> Option<Finding> {
    let renamed: Vec<String> = subject
        .providers
        .iter()
        .filter_map(|provider| {
            let names = WireNames::new(*provider, [subject.label]);
            let wire = names.wire(subject.label)?;
            (wire != subject.label).then(|| format!("{provider} is told `{wire}`"))
        })
        .collect();
    if renamed.is_empty() {
        return None;
    }
    let message = format!("not every provider takes its name: {}", renamed.join(", "));
    subject.warns("provider_name", message, "use at most 64 of A-Z a-z 0-9 _ - for the whole name.")
}

pub(super) fn unportable_schema(subject: Subject<'_>) -> Option<Finding> {
    let told = by_provider(subject, |provider| {
        match project(&subject.spec.input_schema, Target { provider, strict: false }) {
            Err(error) => Some(format!("cannot be told: {error}")),
            Ok(projection) if projection.report.dropped.is_empty() => None,
            Ok(projection) => Some(format!("loses {}", keywords(&projection.report.dropped))),
        }
    });
    let fix = "say it with the keywords every provider takes; `tollgate schema project` shows what becomes of each.";
    told.and_then(|told| subject.warns("unportable_schema", told, fix))
}

pub(super) fn not_strict(subject: Subject<'_>) -> Option<Finding> {
    let told = by_provider(subject, |provider| {
        let projection = project(&subject.spec.input_schema, Target { provider, strict: true }).ok()?;
        (!projection.strict)
            .then(|| format!("not strict because of {}", keywords(&projection.report.not_strict)))
    });
    let fix = "`tollgate schema project --strict` says what stands in the way.";
    told.and_then(|told| subject.finds("not_strict", Level::Info, told, fix))
}

/// What there is to tell, providers that are told the same together.
fn by_provider(subject: Subject<'_>, tell: impl Fn(Provider) -> Option<String>) -> Option<String> {
    let mut groups: Vec<(String, Vec<&str>)> = Vec::new();
    for provider in subject.providers {
        let Some(told) = tell(*provider) else { continue };
        match groups.iter_mut().find(|(known, _)| *known == told) {
            Some((_, names)) => names.push(provider.as_str()),
            None => groups.push((told, vec![provider.as_str()])),
        }
    }
    let lines: Vec<_> =
        groups.into_iter().map(|(told, names)| format!("{}: {told}", names.join(", "))).collect();
    (!lines.is_empty()).then(|| lines.join("; "))
}

fn keywords(entries: &[ReportEntry]) -> String {
    let names: Vec<_> = entries
        .iter()
        .map(|entry| match &*entry.keyword {
            "" => entry.why.clone(),
            keyword => {
                format!("`{keyword}` at {}", if entry.pointer.is_empty() { "/" } else { &entry.pointer })
            }
        })
        .collect();
    some_of(&names)
}
