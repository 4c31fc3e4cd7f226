//! A turn in words: what was proposed, when it ran, how it was answered.

use tollgate::{
    Settled,
    event::What,
    outcome::{Item, Outcome},
};

use super::{Played, picture::picture, script::Scene};

/// The whole of one turn.
pub(super) fn scene(number: u32, scene: &Scene, played: &Played) -> String {
    let mut lines = vec![String::new(), format!("{number}. {}", scene.title)];
    lines.extend(wrapped(scene.look));
    lines.push("  the model proposes".to_owned());
    lines.extend(scene.calls.iter().map(|(id, tool, input)| format!("    {id}  {tool} {input}")));
    let picture = picture(&played.events);
    if !picture.is_empty() {
        lines.push("  what ran when".to_owned());
        lines.extend(picture.into_iter().map(|line| format!("  {line}")));
        lines.push(format!("    all of it: {} ms", played.took_ms));
    }
    lines.extend(hooks(played));
    lines.push("  the answers".to_owned());
    for settled in &played.answers {
        lines.extend(answer(settled));
    }
    lines.join("\n")
}

/// What hooks did, as they said it.
fn hooks(played: &Played) -> Vec<String> {
    let did = played.events.iter().filter_map(|event| match (&event.what, &event.call) {
        (What::Hook(said), Some(call)) => Some(format!("    {call}  {} {}", said.hook, said.did)),
        _ => None,
    });
    let did: Vec<_> = did.collect();
    if did.is_empty() { did } else { [vec!["  the hooks".to_owned()], did].concat() }
}

fn answer(settled: &Settled) -> Vec<String> {
    let id = &settled.id;
    match &settled.outcome {
        Outcome::Ok(output) => {
            let shown: Vec<_> = output.items.iter().map(shown).collect();
            vec![format!("    {id}  ok       {}", shown.join(" "))]
        }
        Outcome::Refused(refusal) => {
            let mut lines = vec![
                format!("    {id}  refused  at {}, {}", settled.phase.title(), refusal.code),
                format!("        reason {}", refusal.reason),
            ];
            lines.extend(refusal.hint.iter().map(|hint| format!("        hint:  {hint}")));
            lines
        }
        Outcome::Failed(failure) => {
            let mut lines = vec![format!("    {id}  {}  {}", settled.status(), failure.message)];
            lines.extend(failure.hint.iter().map(|hint| format!("        hint:  {hint}")));
            lines
        }
    }
}

fn shown(item: &Item) -> String {
    match item {
        Item::Text { text } => text.clone(),
        Item::Json { json } => json.to_string(),
        Item::Image { mime, .. } => format!("[{mime}]"),
    }
}

/// Words in lines of a width that fits every terminal.
fn wrapped(text: &str) -> Vec<String> {
    let mut lines = vec![String::from(" ")];
    for word in text.split_whitespace() {
        if lines.last().is_some_and(|line| line.len() + word.len() > 78) {
            lines.push(String::from(" "));
        }
        if let Some(line) = lines.last_mut() {
            line.push(' ');
            line.push_str(word);
        }
    }
    lines
}
