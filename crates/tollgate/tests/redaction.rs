//! No secret reaches the model, the ledger or an observer; what is none comes through byte for byte.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail as loudly as tests")]

use std::sync::Arc;

use proptest::prelude::*;
use serde_json::{Value, json};
use tollgate::{
    Effects, Failure, Output, Proposed, Registry, Scope, Tollgate,
    guard::{Run, Workspace},
    outcome::{Item, RedactStream, Redactor},
    policy::Rules,
    tool::ToolBuilder,
};

/// Cases of the shared corpus: `redact` and `pass`.
fn corpus() -> Vec<(String, Vec<String>, bool)> {
    let file = include_str!("data/output.jsonl");
    let cases = file.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let wanted = cases.filter(|case| case["label"] == "redact" || case["label"] == "pass");
    let texts = |case: &Value| match case["input"]["chunks"].as_array() {
        Some(chunks) => chunks.iter().map(|chunk| chunk.as_str().unwrap().to_owned()).collect(),
        None => vec![case["input"]["output"].as_str().unwrap().to_owned()],
    };
    wanted.map(|case| (case["id"].to_string(), texts(&case), case["label"] == "redact")).collect()
}

/// What of a case must not be seen.
fn secret_of(texts: &[String]) -> Option<&'static str> {
    let all = texts.concat();
    let secrets = ["AKIAIOSFODNN7EXAMPLE", "FAKE0FAKE1FAKE2", "FAKEpassw0rd!", "AKIAIOSF"];
    secrets.into_iter().find(|secret| all.contains(secret))
}

fn gate(output: Result<Output, Failure>) -> Tollgate {
    let tool = ToolBuilder::new("t", "A tool.", json!({"type": "object"}))
        .unwrap()
        .effects(|_, _| Effects::reading())
        .run(move |_, _| {
            let output = output.clone();
            Box::pin(async move { output })
        });
    let rules = Rules::new().allow("*").unwrap();
    Tollgate::builder(Registry::new().with(tool).unwrap()).policy(rules).build()
}

async fn seen(output: Result<Output, Failure>) -> (String, String) {
    let gate = gate(output);
    let mut events = gate.observe(100);
    let scope = Arc::new(Scope::new(Run::new("r"), Workspace::new("/tmp")));
    let settled = gate.call(&scope, Proposed::new("c", "t", "{}")).await;
    let texts: Vec<String> = settled.output().map_or_else(Vec::new, |output| {
        output
            .items
            .iter()
            .map(|item| match item {
                Item::Text { text } => text.clone(),
                other => serde_json::to_string(other).unwrap(),
            })
            .collect()
    });
    let told = format!("{} {settled:?} {:?}", serde_json::to_string(&settled).unwrap(), events.records());
    (texts.concat(), told)
}

#[tokio::test]
async fn the_corpus_is_redacted_and_what_is_no_secret_passes_byte_for_byte() {
    let cases = corpus();
    assert!(cases.len() >= 16, "{}", cases.len());
    for (id, texts, redact) in cases {
        let output = texts
            .iter()
            .fold(Output::default(), |output, text| output.and(Item::Text { text: text.clone() }));
        let (text, told) = seen(Ok(output)).await;
        if redact {
            let secret = secret_of(&texts).unwrap_or_else(|| panic!("{id}: no secret known in {texts:?}"));
            assert!(!text.contains(secret) && !told.contains(secret), "{id}: {text}");
            assert!(text.contains("[redacted: "), "{id}: {text}");
        } else {
            assert_eq!(text, texts.concat(), "{id}");
        }
    }
}

#[tokio::test]
async fn failures_json_and_causes_are_redacted_too() {
    let key = "ghp_FAKE0FAKE1FAKE2FAKE3FAKE4FAKE5FAKE6F";
    let failure = Failure::fatal(format!("could not log in with {key}")).caused_by(format!("inner: {key}"));
    let (_, told) = seen(Err(failure)).await;
    assert!(!told.contains(key) && told.contains("[redacted: GitHub token]"), "{told}");
    // Also where the cause is shortened in the middle of it.
    let long = Failure::fatal("no").caused_by(format!("{} {key}", "x".repeat(3_985)));
    let (_, told) = seen(Err(long)).await;
    assert!(!told.contains("ghp_FAKE0"), "{told}");
    let value = json!({"deep": [{"password": "hunter22"}, format!("x {key}")], "tokens": 7, "token": "next"});
    let (text, _) = seen(Ok(Output::json(value))).await;
    assert!(!text.contains("hunter22") && !text.contains(key), "{text}");
    assert!(text.contains("[redacted: value of password]") && text.contains(r#""tokens":7"#), "{text}");
}

#[test]
fn the_password_of_a_netrc_is_taken_also_where_its_lines_come_one_by_one() {
    let mut stream = RedactStream::new(Redactor::new());
    let lines = ["machine a.example\n", "  login me\n", "  password sesame\n", "machine b.example\n"];
    let shown: String = lines.iter().map(|line| stream.push(line)).collect();
    let shown = shown + &stream.finish();
    assert!(
        shown.contains("password [redacted: password in a .netrc]") && !shown.contains("sesame"),
        "{shown}"
    );
}

#[tokio::test]
async fn what_a_tool_says_on_its_way_is_redacted_too() {
    let tool = ToolBuilder::new("t", "A tool.", json!({"type": "object"}))
        .unwrap()
        .effects(|_, _| Effects::reading())
        .run(|cx, _| {
            cx.progress(0.5, "with AKIAIOSFODNN7EXAMPLE");
            Box::pin(async { Ok(Output::text("done")) })
        });
    let rules = Rules::new().allow("*").unwrap();
    let gate = Tollgate::builder(Registry::new().with(tool).unwrap()).policy(rules).build();
    let mut events = gate.observe(100);
    let scope = Arc::new(Scope::new(Run::new("r"), Workspace::new("/tmp")));
    let settled = gate.call(&scope, Proposed::new("c", "t", "{}")).await;
    assert!(settled.output().is_some(), "{settled:?}");
    let told = format!("{:?}", events.records());
    assert!(told.contains("with [redacted: AWS access key id]") && !told.contains("AKIA"), "{told}");
}

#[test]
fn ordinary_code_and_prose_are_left_alone() {
    for text in [
        "password: string;",
        "let token = get_token2(x);",
        "token = os.environ['API_TOKEN']",
        "const password = process.env.DB_PASSWORD2;",
        "max_tokens: 4096, next_page_token: abcdef123456",
        "Password: required",
        "secret = ${SECRET_V2}",
        "https://user@example.com/path and http://localhost:8080/x:y@z",
        "sk-learn and sk-small are not keys; AKIAfoo neither; ghp_short",
        "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----",
        "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "commit 73b19fc0d5a2a1f6f7d0a0b4d6b7c1d2e3f4a5b6",
        "PWD=/srv/app OLDPWD=/srv",
        "the password reset page\npassword sesame7 is written nowhere",
        "on this machine the login has a password prompt",
        "curl -u me:$PASSWORD a.example; curl -u \"$USER\" b; docker run -u 1000:1000 x",
        "curl -H 'x: y' a.example | mysql -p shop; mysql -P 3306 --protocol=tcp",
        "12345678:30:00 and 123456789:short",
    ] {
        assert_eq!(Redactor::new().text(text), text);
    }
}

#[test]
fn other_secrets_are_named_by_their_kind() {
    let marked = Redactor::new().marking("DEPLOY_TOKEN", "correct horse battery");
    for (text, clean) in [
        ("pay correct horse battery now", "pay [redacted: value of DEPLOY_TOKEN] now"),
        ("postgres://me:s3cr3t@db/x", "postgres://me:[redacted: password in a URL]@db/x"),
        ("Authorization: Bearer abcdef0123456789abcdef", "Authorization: Bearer [redacted: bearer token]"),
        (
            "a -----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY----- z",
            "a [redacted: private key] z",
        ),
        ("api-key = 'a1b2c3d4e5'", "api-key = '[redacted: value of api-key]'"),
        ("bot 123456789:AAFakeFakeFakeFakeFakeFakeFakeFakeF said", "bot [redacted: Telegram token] said"),
        (
            "machine a.example login me password open-sesame\n",
            "machine a.example login me password [redacted: password in a .netrc]\n",
        ),
        (
            "machine a.example\n  login me\n  password sesame\n",
            "machine a.example\n  login me\n  password [redacted: password in a .netrc]\n",
        ),
        (
            "$ /usr/bin/curl -s -u 'me:sesame7' https://a.example",
            "$ /usr/bin/curl -s -u 'me:[redacted: password of a command]' https://a.example",
        ),
        (
            "curl --user=me:sesame7 a.example && ls",
            "curl --user=me:[redacted: password of a command] a.example && ls",
        ),
        ("mysqldump -h db -psesame7 shop", "mysqldump -h db -p[redacted: password of a command] shop"),
        (
            "sshpass -p \"sesame7\" ssh me@host",
            "sshpass -p \"[redacted: password of a command]\" ssh me@host",
        ),
        (
            "POST https://hooks.slack.com/services/T0AAAAAAA/B0BBBBBBB/abcdefghijklmnopqrstuvwx now",
            "POST [redacted: Slack webhook] now",
        ),
        ("xai-0123456789abcdefghijABCDEFGHIJ0123456789abcd", "[redacted: xAI key]"),
        ("hvs.CAESIJ0123456789abcdefghijABCDEF", "[redacted: Vault token]"),
        ("AWS key: AKIAIOSF\nODNN7EXAMPLE done", "AWS key: [redacted: AWS access key id] done"),
    ] {
        assert_eq!(marked.text(text), clean);
    }
}

/// Lines as a key has them.
const BODY: &str = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj\n\
                    MzEfYyjiWA4R4/M2bS1GB4t7NXp98C3SC6dVMvDuictGeurT8jNbvJZHtCSuYEvu";

#[test]
fn a_key_that_is_cut_is_taken_as_far_as_it_goes_and_nothing_else_is() {
    let head = "-----BEGIN PRIVATE KEY-----";
    let escaped = BODY.replace('\n', "\\n");
    let quoted: String = BODY.lines().map(|line| format!("> {line}\n")).collect();
    for (text, clean) in [
        ("/etc/-----BEGIN PRIVATE KEY".to_owned(), "/etc/[redacted: private key]"),
        (
            "grep '-----BEGIN RSA PRIVATE KEY-----' *.pem finds keys".to_owned(),
            "grep '[redacted: private key]' *.pem finds keys",
        ),
        (format!("{head}\n{BODY}"), "[redacted: private key]"),
        (format!("{head}\n{BODY}\nq1w2=="), "[redacted: private key]"),
        (format!("{head}\n{BODY}\nand that was all"), "[redacted: private key]\nand that was all"),
        (format!("{{\"k\":\"{head}\\n{escaped}\\nabc=\"}}"), "{\"k\":\"[redacted: private key]\"}"),
        (format!("{head}\n{quoted}so it said"), "[redacted: private key]\nso it said"),
        (
            format!(
                "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,00\n\n{BODY}"
            ),
            "[redacted: private key]",
        ),
        (format!("{head} {BODY} -----END PRIVATE KEY----- z"), "[redacted: private key] z"),
        (
            format!("{head} is a mark. {head}\nMIIE\n-----END PRIVATE KEY-----"),
            "[redacted: private key] is a mark. [redacted: private key]",
        ),
    ] {
        assert_eq!(Redactor::new().text(&text), clean, "{text}");
    }
}

#[test]
fn a_text_of_first_lines_alone_is_looked_through_once() {
    let text = "-----BEGIN PRIVATE KEY ".repeat(100_000);
    // A second look to the end from each of them would take minutes.
    assert_eq!(Redactor::new().text(&text).matches("[redacted: private key]").count(), 100_000);
}

const SECRETS: [&str; 6] = [
    "AKIAIOSFODNN7EXAMPLE",
    "ghp_FAKE0FAKE1FAKE2FAKE3FAKE4FAKE5FAKE6F",
    "sk-ant-api03-FAKE0FAKE1FAKE2FAKE3FAKE4",
    "DB_PASSWORD='FAKEpassw0rd!'",
    "marked value of ours",
    "npm_FAKE0FAKE1FAKE2FAKE3FAKE4FAKE5FAKE6F",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn a_secret_split_over_any_chunk_border_never_passes(
        before in "([a-z ]{0,12}\\n?){0,4}", after in "(\\n?[a-z ]{0,12}){0,4}", which in 0..SECRETS.len(),
        cuts in proptest::collection::vec(0usize..200, 0..6),
    ) {
        let secret = SECRETS[which];
        let text = format!("{before} {secret} {after}");
        let redactor = Redactor::new().marking("OURS", "marked value of ours");
        let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(text.len())).collect();
        cuts.sort_unstable();
        let mut stream = RedactStream::new(redactor.clone());
        let (mut shown, mut at) = (String::new(), 0);
        for cut in cuts.into_iter().chain([text.len()]) {
            shown.push_str(&stream.push(&text[at..cut]));
            at = cut;
        }
        shown.push_str(&stream.finish());
        let hidden = secret.trim_start_matches("DB_PASSWORD='").trim_end_matches('\'');
        prop_assert!(!shown.contains(hidden), "{shown}");
        prop_assert_eq!(shown, redactor.text(&text).into_owned());
    }

    #[test]
    fn a_secret_split_between_two_texts_of_one_answer_never_passes(which in 0..SECRETS.len(), cut in 1usize..19) {
        let secret = SECRETS[which];
        let (one, two) = secret.split_at(cut.min(secret.len() - 1));
        let output = Output::text(format!("see {one}")).and(Item::Text { text: format!("{two} end") });
        let tool_gate = gate(Ok(output));
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let scope = Arc::new(Scope::new(Run::new("r"), Workspace::new("/tmp")));
        let settled = runtime.block_on(tool_gate.call(&scope, Proposed::new("c", "t", "{}")));
        let all: String = settled.output().unwrap().items.iter().map(|item| match item {
            Item::Text { text } => text.clone(),
            _ => String::new(),
        }).collect();
        if which != 4 {
            let hidden = secret.trim_start_matches("DB_PASSWORD='").trim_end_matches('\'');
            prop_assert!(!all.contains(hidden), "{}", all);
        }
    }
}
