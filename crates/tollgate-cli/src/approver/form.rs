//! A server's question becomes a form at the terminal: whose it is, what it wants to know, and a way to say no.

use std::fmt::Write as _;

use serde_json::{Map, Value};
use tollgate::{BoxFuture, schema::Compiled};
use tollgate_mcp::client::{Elicitation, ElicitationAnswer, Elicitor};

use super::{
    Terminal,
    edit::{Edited, edit},
    field::Field,
    keys::Key,
    tty::Talk,
};
use crate::words::{self, visible};

/// The person at the terminal answers servers' questions.
pub(crate) struct Forms(pub(crate) Terminal);

/// Nobody is there to be asked: every question is declined, and that it was is said.
pub(crate) struct Declined(pub(crate) &'static str);

/// No more fields are asked for in one form.
const MOST_FIELDS: usize = 40;

impl Elicitor for Declined {
    fn elicit(&self, question: Elicitation) -> BoxFuture<'_, ElicitationAnswer> {
        let asked: String = question.message.chars().take(200).collect();
        words::talk(&format!(
            "note: the server {} asks: {}; declined: {}.",
            question.server,
            visible(&asked),
            self.0
        ));
        Box::pin(std::future::ready(ElicitationAnswer::Decline))
    }
}

impl Elicitor for Forms {
    fn elicit(&self, question: Elicitation) -> BoxFuture<'_, ElicitationAnswer> {
        Box::pin(async move {
            let answered = self.0.with(async |talk| {
                let answer = ask(talk, &question).await;
                talk.say(match &answer {
                    ElicitationAnswer::Accept(_) => "sent\n",
                    ElicitationAnswer::Decline => "declined\n",
                    ElicitationAnswer::Cancel => "left unanswered\n",
                });
                answer
            });
            answered.await.unwrap_or(ElicitationAnswer::Decline)
        })
    }
}

async fn ask(talk: &mut Talk<'_>, question: &Elicitation) -> ElicitationAnswer {
    let mut text = format!("\nthe server {} asks:\n", question.server);
    for line in question.message.lines().take(60) {
        let _ = writeln!(text, "  {}", visible(line));
    }
    if let Some(url) = &question.url {
        let _ = write!(text, "{}", address(url));
        talk.say(&text);
        return match decide(talk, "  y I have done it   n no   Esc leave it unanswered\n> ").await {
            Decided::Yes => ElicitationAnswer::Accept(None),
            Decided::No => ElicitationAnswer::Decline,
            Decided::Neither => ElicitationAnswer::Cancel,
        };
    }
    let fields = match Field::all(question.schema.as_ref(), MOST_FIELDS) {
        Ok(fields) => fields,
        Err(why) => {
            talk.say(&format!("{text}  It cannot be shown as a form: {}\n", visible(&why)));
            return ElicitationAnswer::Decline;
        }
    };
    for field in &fields {
        let _ = writeln!(text, "  - {}", field.described());
    }
    if let Some(why) = secret(question, &fields) {
        let _ = writeln!(
            text,
            "  ! This looks like a question for a secret ({}). A server must not ask for one in a form: say no unless you are certain.",
            visible(&why)
        );
    }
    talk.say(&text);
    match decide(talk, "  y answer   n no   Esc leave it unanswered\n> ").await {
        Decided::Yes => fill(talk, question, &fields).await,
        Decided::No => ElicitationAnswer::Decline,
        Decided::Neither => ElicitationAnswer::Cancel,
    }
}

/// The address a server sends the person to. It is shown; going there is up to the person.
fn address(url: &str) -> String {
    let host =
        url.split_once("://").map_or("", |(_, rest)| rest.split(['/', '?', '#']).next().unwrap_or_default());
    let safe = url.starts_with("https://");
    let mut text =
        format!("  It wants you to go to this address, which is not opened here:\n    {}\n", visible(url));
    let _ =
        writeln!(text, "  Its host is {}{}.", visible(host), if safe { "" } else { ", and it is not https" });
    text
}

enum Decided {
    Yes,
    No,
    Neither,
}

async fn decide(talk: &mut Talk<'_>, keys: &str) -> Decided {
    talk.say(keys);
    loop {
        match talk.key().await {
            Key::Char('y') => return Decided::Yes,
            Key::Char('n') => return Decided::No,
            Key::Escape | Key::Ctrl('c' | 'd') | Key::Gone => return Decided::Neither,
            // Any other key is no answer.
            _ => {}
        }
    }
}

/// Field by field, then the whole once more: nothing is sent that the person has not seen together.
async fn fill(talk: &mut Talk<'_>, question: &Elicitation, fields: &[Field]) -> ElicitationAnswer {
    let mut given: Map<String, Value> =
        fields.iter().filter_map(|field| Some((field.name.clone(), field.otherwise.clone()?))).collect();
    loop {
        for field in fields {
            match one(talk, field, given.get(&field.name)).await {
                Ok(Some(value)) => drop(given.insert(field.name.clone(), value)),
                Ok(None) => drop(given.remove(&field.name)),
                Err(answer) => return answer,
            }
        }
        let content = Value::Object(given.clone());
        if let Some(wrong) = wrong(question.schema.as_ref(), &content) {
            talk.say(&format!("  This does not fit what it asks for: {}\n", visible(&wrong)));
            continue;
        }
        let mut all = format!("\nto the server {}:\n", question.server);
        for (name, value) in &given {
            let _ = writeln!(all, "  {} = {}", visible(name), visible(&value.to_string()));
        }
        talk.say(&all);
        match send(talk).await {
            Some(answer) => return answer.unwrap_or(ElicitationAnswer::Accept(Some(content))),
            None => talk.say("\n"),
        }
    }
}

/// Whether it is sent: `None` for once more, `Some(None)` for yes.
async fn send(talk: &mut Talk<'_>) -> Option<Option<ElicitationAnswer>> {
    talk.say("  y send   e change   n no   Esc leave it unanswered\n> ");
    loop {
        match talk.key().await {
            Key::Char('y') => return Some(None),
            Key::Char('e') => return None,
            Key::Char('n') => return Some(Some(ElicitationAnswer::Decline)),
            Key::Escape | Key::Ctrl('c' | 'd') | Key::Gone => return Some(Some(ElicitationAnswer::Cancel)),
            _ => {}
        }
    }
}

/// One field, until what is typed is one; empty leaves out what may be left out.
async fn one(
    talk: &mut Talk<'_>,
    field: &Field,
    begun: Option<&Value>,
) -> Result<Option<Value>, ElicitationAnswer> {
    talk.say(&field.shown());
    let mut text = begun.map(Field::typed).unwrap_or_default();
    loop {
        match edit(talk, "  : ", &text).await {
            Edited::Text(typed) => text = typed,
            Edited::Back | Edited::Stop | Edited::Interrupt | Edited::Gone => {
                return Err(ElicitationAnswer::Cancel);
            }
        }
        match field.read(text.trim()) {
            Ok(value) => return Ok(value),
            Err(why) => talk.say(&format!("  {}\n", visible(&why))),
        }
    }
}

/// What of the answer the server's own schema would refuse.
fn wrong(schema: Option<&Value>, content: &Value) -> Option<String> {
    let compiled = match Compiled::any(schema?.clone()) {
        Ok(compiled) => compiled,
        Err(why) => return Some(why.to_string()),
    };
    let violations = compiled.violations(content);
    violations.first().map(|violation| format!("{} {}", violation.pointer, violation.message))
}

/// Words that ask for what nobody should type into a form.
const SECRET: [&str; 12] = [
    "password",
    "passwort",
    "passphrase",
    "secret",
    "api key",
    "apikey",
    "access token",
    "private key",
    "pin code",
    "credit card",
    "cvv",
    "one-time code",
];

fn secret(question: &Elicitation, fields: &[Field]) -> Option<String> {
    let names = fields.iter().map(Field::described);
    let texts = names.chain([question.message.clone()]);
    let plain = |text: String| text.to_lowercase().replace(['_', '-'], " ");
    texts.map(plain).find_map(|text| SECRET.into_iter().find(|word| text.contains(word))).map(str::to_owned)
}
