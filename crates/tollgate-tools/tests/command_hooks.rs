//! Command hooks on the real path, as real processes: every way to fail, and everything they may say.
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "helpers of tests stop the test")]

use std::{
    path::Path,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use tollgate::{
    BoxFuture, Effects, Output, Proposed, Registry, Scope, Settled, Tollgate,
    event::What,
    guard::{Run, Workspace},
    outcome::{Outcome, RefusalCode},
    policy::{Answer, Approver, Digest, Query, Question, Rules},
    tool::ToolBuilder,
};
use tollgate_tools::hook_command::{CommandHook, Probed, read};

/// A folder with a gate in it whose one tool `send` answers with its own arguments.
struct World {
    folder: tempfile::TempDir,
    ran: Arc<Mutex<Vec<Value>>>,
}

/// The answer of a call and what hooks were seen to do.
struct Walked {
    settled: Settled,
    hooks: Vec<(String, String)>,
}

fn variables() -> Vec<(std::ffi::OsString, std::ffi::OsString)> {
    vec![("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into()), ("SECRET".into(), "tulip".into())]
}

impl World {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap(), ran: Arc::default() }
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    /// A hook that is a shell script.
    fn hook(&self, kind: &str, on: &str, script: &str, more: &str) -> CommandHook {
        let text = format!(
            "[[hook]]\nname = \"h\"\nkind = \"{kind}\"\non = {on}\ncommand = [\"sh\", \"-c\", {}]\n{more}\n",
            Value::from(script)
        );
        let config = read(&text, self.path()).expect("the config is right").remove(0);
        CommandHook::new(config, variables())
    }

    fn registry(&self) -> Registry {
        let ran = self.ran.clone();
        let schema =
            json!({"type": "object", "properties": {"to": {"type": "string", "maxLength": 20}, "n": {}}});
        let send = ToolBuilder::new("send", "Sends.", schema)
            .unwrap()
            .effects(|_, _| Effects::writing())
            .run(move |_, args| {
                ran.lock().unwrap().push(args.clone());
                Box::pin(async move { Ok(Output::text(format!("sent {args}"))) })
            });
        Registry::new().with(send).unwrap()
    }

    fn scope(&self) -> Arc<Scope> {
        Arc::new(Scope::new(Run::new("r"), Workspace::new(self.path())))
    }

    async fn call(&self, hook: CommandHook, args: &Value) -> Walked {
        let gate =
            Tollgate::builder(self.registry()).policy(Rules::new().allow("send").unwrap()).hook(hook).build();
        self.walk(&gate, args).await
    }

    async fn walk(&self, gate: &Tollgate, args: &Value) -> Walked {
        let mut seen = gate.observe(1000);
        let settled = gate.call(&self.scope(), Proposed::new("c1", "send", args)).await;
        let said = seen.records().into_iter().filter_map(|event| match event.what {
            What::Hook(said) => Some((said.hook, said.did)),
            _ => None,
        });
        let hooks = said.collect();
        Walked { settled, hooks }
    }

    fn ran(&self) -> Vec<Value> {
        self.ran.lock().unwrap().clone()
    }
}

/// Every way to fail: the script, what the config says beside it, and the words that tell.
const FAILURES: [(&str, &str, &str); 10] = [
    ("sleep 60", "timeout_ms = 200", "it did not answer within 200 ms"),
    ("trap '' TERM; sleep 60; sleep 60", "timeout_ms = 200", "it did not answer within 200 ms"),
    ("exit 1", "", "it exited with 1"),
    ("echo 'no disk' >&2; exit 7", "", "it exited with 7: no disk"),
    ("kill -KILL $$", "", "it was killed by signal 9"),
    ("exit 0", "answers = \"json\"", "it ended well but said nothing, and silence is no answer"),
    (
        "head -c 10000000 /dev/zero",
        "answers = \"json\"",
        "it answered with 10000000 bytes, more than an answer may have",
    ),
    ("echo '{\"decision\":'", "answers = \"json\"", "what it said is no answer: EOF while parsing"),
    (
        "echo '{\"decision\":\"pass\",\"allow\":true}'",
        "answers = \"json\"",
        "what it said is no answer: unknown field `allow`",
    ),
    ("echo '{}'", "answers = \"json\"", "what it said is no answer: missing field `decision`"),
];

#[tokio::test]
async fn every_failure_of_a_gate_blocks_the_call_with_a_reason() {
    for (script, more, words) in FAILURES {
        let world = World::new();
        let walked = world.call(world.hook("gate", "[\"before\"]", script, more), &json!({})).await;
        let refusal = walked.settled.refusal().unwrap_or_else(|| panic!("{script} did not block"));
        assert_eq!(refusal.code, RefusalCode::BlockedByHook, "{script}");
        let reason = format!("The hook `h` blocked this call: it failed ({words}");
        assert!(refusal.reason.starts_with(&reason), "{script}: {}", refusal.reason);
        assert_eq!(world.ran(), [] as [Value; 0], "{script}");
        assert!(walked.hooks[0].1.starts_with(&format!("blocked: it failed ({words}")), "{:?}", walked.hooks);
    }
}

#[tokio::test]
async fn every_failure_of_an_observer_is_logged_and_changes_nothing() {
    for (script, more, words) in FAILURES {
        let world = World::new();
        let walked = world
            .call(world.hook("observer", "[\"before\", \"after\"]", script, more), &json!({"n": 1}))
            .await;
        assert_eq!(walked.settled.output(), Some(&Output::text("sent {\"n\":1}")), "{script}");
        assert_eq!(walked.settled.context, [] as [String; 0]);
        assert_eq!(walked.hooks.len(), 2, "{script}: {:?}", walked.hooks);
        assert!(walked.hooks[0].1.starts_with(&format!("it failed ({words}")), "{:?}", walked.hooks);
        assert!(walked.hooks[1].1.starts_with(&format!("failed ({words}")), "{:?}", walked.hooks);
    }
}

#[tokio::test]
async fn a_program_that_is_not_there_blocks_as_a_gate_and_is_logged_as_an_observer() {
    for kind in ["gate", "observer"] {
        let world = World::new();
        for command in ["[\"no-such-program\"]", "[\"./absent.sh\"]", "[\"/etc/passwd\"]", "[\"/tmp\"]"] {
            let text = format!(
                "[[hook]]\nname='h'\nkind='{kind}'\non=['before']\ncommand={command}\nanswers='exit_code'"
            );
            let hook = CommandHook::new(read(&text, world.path()).unwrap().remove(0), variables());
            let walked = world.call(hook, &json!({})).await;
            assert_eq!(walked.settled.refusal().is_some(), kind == "gate", "{command}");
            assert!(walked.hooks[0].1.contains("program"), "{command} {:?}", walked.hooks);
        }
    }
}

#[tokio::test]
async fn after_the_call_every_failure_of_a_gate_withholds_the_output() {
    for (script, more, words) in FAILURES {
        let world = World::new();
        let walked = world.call(world.hook("gate", "[\"after\"]", script, more), &json!({"n": 1})).await;
        let withheld = "[The call went well; its output is withheld because the hook `h` failed.]";
        assert_eq!(walked.settled.output(), Some(&Output::text(withheld)), "{script}");
        assert!(walked.hooks[0].1.starts_with(&format!("failed ({words}")), "{script} {:?}", walked.hooks);
        assert_eq!(world.ran().len(), 1);
    }
}

#[tokio::test]
async fn a_hook_is_told_the_whole_call() {
    let world = World::new();
    let script = "cat > question.json; echo '{\"decision\":\"pass\"}'";
    world.call(world.hook("gate", "[\"before\"]", script, ""), &json!({"to": "ann"})).await;
    let told =
        |file| serde_json::from_slice::<Value>(&std::fs::read(world.path().join(file)).unwrap()).unwrap();
    let effects = json!({"concurrency": "write_exclusive", "read_only": false, "destructive": false,
                         "idempotent": false, "open_world": false, "touches": []});
    let scope = json!({"run": "r", "turn": 0, "caller": "main", "goal": null, "route": null,
                       "cwd": world.path(), "roots": [world.path()], "interactive": false});
    let before = json!({"version": 1, "phase": "before", "call": "c1", "tool": "send", "args": {"to": "ann"},
                        "effects": effects, "scope": scope});
    assert_eq!(told("question.json"), before);
    world.call(world.hook("observer", "[\"after\"]", "cat > question.json", ""), &json!({"to": "ann"})).await;
    let mut after = before;
    after["phase"] = json!("after");
    after["outcome"] = json!({"status": "ok", "output": [{"type": "text", "text": "sent {\"to\":\"ann\"}"}]});
    assert_eq!(told("question.json"), after);
}

#[tokio::test]
async fn a_hook_says_its_decision_as_json_or_by_its_exit_code() {
    let cases: [(&str, &str, Result<&str, &str>); 7] = [
        ("echo '{\"decision\":\"pass\"}'", "", Ok("")),
        ("exit 0", "answers = \"exit_code\"", Ok("")),
        ("echo noise; exit 0", "answers = \"exit_code\"", Ok("")),
        ("echo '{\"decision\":\"pass\",\"context\":\"mind the gap\"}'", "", Ok("mind the gap")),
        ("echo '{\"decision\":\"block\",\"reason\":\"not on Fridays\"}'", "", Err("not on Fridays")),
        ("echo 'not on Mondays' >&2; exit 2", "", Err("not on Mondays")),
        ("exit 2", "answers = \"exit_code\"", Err("it gave no reason")),
    ];
    for (script, more, expected) in cases {
        let world = World::new();
        let walked = world.call(world.hook("gate", "[\"before\"]", script, more), &json!({})).await;
        match (&walked.settled.outcome, expected) {
            (Outcome::Ok(_), Ok(context)) => assert_eq!(walked.settled.context.concat(), context, "{script}"),
            (Outcome::Refused(refusal), Err(reason)) => {
                assert_eq!(refusal.reason, format!("The hook `h` blocked this call: {reason}"));
            }
            other => panic!("{script}: {other:?}"),
        }
    }
}

#[tokio::test]
async fn an_answer_that_does_not_fit_its_phase_is_nonsense() {
    let cases = [
        ("before", json!({"decision": "rewrite"}), "it wants to rewrite and gave no input"),
        (
            "before",
            json!({"decision": "pass", "input": {}}),
            "it gave an input without the decision to rewrite",
        ),
        ("before", json!({"decision": "pass", "output": "x"}), "it gave an output before the call has one"),
        ("after", json!({"decision": "block"}), "after a call there is only `pass`"),
        (
            "after",
            json!({"decision": "pass", "output": {"text": "x"}}),
            "its output is neither a text nor a list",
        ),
        ("after", json!({"decision": "pass", "output": [1]}), "its output is no list of items"),
        ("after", json!({"decision": "pass", "output": null}), "its output is neither a text nor a list"),
    ];
    for (on, answer, words) in cases {
        let world = World::new();
        let hook = world.hook("gate", &format!("[\"{on}\"]"), &format!("echo '{answer}'"), "");
        let walked = world.call(hook, &json!({})).await;
        assert!(walked.hooks[0].1.contains(words), "{answer}: {:?}", walked.hooks);
        assert_ne!(walked.settled.output(), Some(&Output::text("sent {}")), "{answer}");
    }
}

#[tokio::test]
async fn after_the_call_a_gate_may_replace_the_output_and_an_observer_may_not() {
    let script =
        "echo '{\"decision\":\"pass\",\"output\":\"[redacted]\",\"context\":\"a key was taken out\"}'";
    let world = World::new();
    let walked = world.call(world.hook("gate", "[\"after\"]", script, ""), &json!({})).await;
    assert_eq!(walked.settled.output(), Some(&Output::text("[redacted]")));
    assert_eq!(walked.settled.context, ["a key was taken out"]);
    let walked =
        world.call(world.hook("observer", "[\"after\"]", script, "answers = \"json\""), &json!({})).await;
    assert_eq!(walked.settled.output(), Some(&Output::text("sent {}")));
    assert_eq!(walked.hooks, [("h".to_owned(), "wanted to replace what it cannot".to_owned())]);
}

/// Says yes, and notes what to.
#[derive(Default, Clone)]
struct Yes(Arc<Mutex<Vec<(Value, Digest)>>>);

impl Approver for Yes {
    fn ask<'a>(&'a self, question: Question<'a>) -> BoxFuture<'a, Answer> {
        self.0.lock().unwrap().push((question.args.clone(), question.digest.clone()));
        Box::pin(std::future::ready(Answer::Yes))
    }
}

#[tokio::test]
async fn a_rewrite_is_permitted_anew_and_what_runs_is_what_was_permitted_by_digest() {
    let world = World::new();
    let script =
        "echo '{\"decision\":\"rewrite\",\"input\":{\"to\":\"test\"},\"context\":\"sent to the test box\"}'";
    let (yes, registry) = (Yes::default(), world.registry());
    let gate = Tollgate::builder(registry.clone())
        .policy(Rules::new().ask("send").unwrap())
        .approver(yes.clone())
        .hook(world.hook("gate", "[\"before\"]", script, ""))
        .build();
    let walked = world.walk(&gate, &json!({"to": "ann"})).await;
    assert_eq!(walked.settled.output(), Some(&Output::text("sent {\"to\":\"test\"}")));
    assert_eq!(walked.settled.context, ["sent to the test box"]);
    let asked = yes.0.lock().unwrap().clone();
    let (ran, scope) = (world.ran(), world.scope());
    let digest_of = |args: &Value| {
        Digest::of(&Query::new(registry.specs().next().unwrap(), args, &Effects::writing(), &scope))
    };
    assert_eq!((asked.len(), ran.len()), (1, 1), "asked once, about the final call");
    assert_eq!(asked[0], (json!({"to": "test"}), digest_of(&ran[0])));
    assert_ne!(asked[0].1, digest_of(&json!({"to": "ann"})));
}

#[tokio::test]
async fn a_rewrite_is_validated_and_checked_again_so_a_hook_cannot_smuggle() {
    let world = World::new();
    let rewrite = |input: &str| format!("echo '{{\"decision\":\"rewrite\",\"input\":{input}}}'");
    let cases = [
        (rewrite("{\"to\":\"much longer than twenty characters\"}"), RefusalCode::InvalidArguments),
        (rewrite("{\"unknown\":1}"), RefusalCode::InvalidArguments),
        (rewrite("[]"), RefusalCode::InvalidArguments),
        (rewrite("null"), RefusalCode::InvalidArguments),
        // Never the same twice: it does not come to rest.
        ("echo '{\"decision\":\"rewrite\",\"input\":{\"n\":'$$'}}'".to_owned(), RefusalCode::RewriteLimit),
    ];
    for (script, code) in cases {
        let walked = world.call(world.hook("gate", "[\"before\"]", &script, ""), &json!({"to": "ann"})).await;
        assert_eq!(walked.settled.refusal().map(|refusal| refusal.code), Some(code), "{script}");
    }
    assert_eq!(world.ran(), [] as [Value; 0]);
}

#[tokio::test]
async fn a_hook_gets_the_variables_its_config_names_and_no_others() {
    let world = World::new();
    for (more, secret) in [("", false), ("env = [\"SECRET\"]", true)] {
        world
            .call(
                world.hook("gate", "[\"before\"]", "env > env.txt", &format!("answers='exit_code'\n{more}")),
                &json!({}),
            )
            .await;
        let seen = std::fs::read_to_string(world.path().join("env.txt")).unwrap();
        assert_eq!(seen.contains("SECRET=tulip"), secret, "{seen}");
    }
}

#[tokio::test]
async fn an_answer_is_used_again_only_for_as_long_as_the_hook_says_and_only_for_the_same_call() {
    let world = World::new();
    let count = || std::fs::read_to_string(world.path().join("asked")).unwrap_or_default().lines().count();
    let counting = |cache: &str| format!("echo x >> asked; echo '{{\"decision\":\"pass\"{cache}}}'");
    // (what the answer says, what the config says, how often it is asked by two equal calls and one other)
    let cases = [
        ("", "", 3),
        (",\"cache_ms\":60000", "", 2),
        ("", "cache_ms = 60000", 2),
        (",\"cache_ms\":0", "cache_ms = 60000", 3),
    ];
    for (answer, config, expected) in cases {
        std::fs::write(world.path().join("asked"), "").unwrap();
        let gate = Tollgate::builder(world.registry())
            .policy(Rules::new().allow("send").unwrap())
            .hook(world.hook("gate", "[\"before\"]", &counting(answer), config))
            .build();
        for n in [1, 1, 2] {
            world.walk(&gate, &json!({ "n": n })).await;
        }
        assert_eq!(count(), expected, "{answer} {config}");
    }
    // A failure is never used again: it is asked every time.
    std::fs::write(world.path().join("asked"), "").unwrap();
    let gate = Tollgate::builder(world.registry())
        .policy(Rules::new().allow("send").unwrap())
        .hook(world.hook("gate", "[\"before\"]", "echo x >> asked; exit 1", "cache_ms = 60000"))
        .build();
    for _ in 0..2 {
        world.walk(&gate, &json!({})).await;
    }
    assert_eq!(count(), 2);
}

#[tokio::test]
async fn a_hook_looks_at_its_tools_only_and_explain_names_it_without_running_it() {
    let world = World::new();
    let script = "touch ran; exit 2";
    let gate = |tools: &str| {
        Tollgate::builder(world.registry())
            .policy(Rules::new().allow("send").unwrap())
            .hook(world.hook("gate", "[\"before\"]", script, &format!("tools = {tools}")))
            .build()
    };
    for (tools, looks) in
        [("[\"send\"]", true), ("[\"se*\", \"x\"]", true), ("[\"other\"]", false), ("[]", false)]
    {
        let explained = gate(tools).explain(&world.scope(), Proposed::new("c1", "send", "{}")).await;
        assert_eq!(explained.hooks == ["h"], looks, "{tools}");
        assert!(!world.path().join("ran").exists(), "explain ran the hook");
    }
    assert!(world.walk(&gate("[\"other\"]"), &json!({})).await.settled.refusal().is_none());
    assert!(world.walk(&gate("[\"s*\"]"), &json!({})).await.settled.refusal().is_some());
}

#[tokio::test]
async fn a_probe_tells_whether_a_gate_answers() {
    let world = World::new();
    let cases = [
        ("[\"before\"]", "grep -q '\"probe\":true' && echo '{\"decision\":\"block\"}'", Probed::Answers),
        ("[\"before\", \"after\"]", "echo '{\"decision\":\"pass\"}'", Probed::Answers),
        ("[\"before\"]", "exit 3", Probed::Fails("it exited with 3".to_owned())),
    ];
    for (on, script, expected) in cases {
        assert_eq!(world.hook("gate", on, script, "").probe(world.path()).await, expected, "{script}");
    }
}

#[tokio::test]
async fn a_cancelled_call_ends_its_hook() {
    let world = World::new();
    let hook = world.hook("gate", "[\"before\"]", "echo $$ > id.new; mv id.new id; sleep 300; sleep 300", "");
    let gate =
        Tollgate::builder(world.registry()).policy(Rules::new().allow("send").unwrap()).hook(hook).build();
    let scope = world.scope();
    let (run, file) = (scope.run.clone(), world.path().join("id"));
    let watch = tokio::spawn({
        let file = file.clone();
        async move {
            while !file.exists() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            run.token().cancel();
        }
    });
    let settled = gate.call(&scope, Proposed::new("c1", "send", "{}")).await;
    watch.await.unwrap();
    assert_eq!(settled.refusal().map(|refusal| refusal.code), Some(RefusalCode::Cancelled));
    let id = std::fs::read_to_string(file).unwrap();
    let until = Instant::now() + Duration::from_secs(5);
    while Path::new("/proc").join(id.trim()).exists() {
        assert!(Instant::now() < until, "the hook is still there");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[test]
fn a_config_that_is_not_understood_says_where_and_what_would_be_right() {
    let hook = "[policy]\nallow = [\"x\"]\n\n[[hook]]\nname = \"a\"\nkind = \"gate\"\non = [\"before\"]\n";
    let command = "command = [\"true\"]\n";
    let cases = [
        (hook.to_owned(), "4:1: missing field `command`"),
        (format!("{hook}{command}colour = 1\n"), "9:1: unknown field `colour`"),
        (format!("{hook}command = []\n"), "8:11: the command is empty"),
        (format!("{hook}command = \"true\"\n"), "8:11: invalid type: string"),
        (format!("{hook}{command}timeout_ms = 0\n"), "9:14: 0 is not from 1 to 600000 milliseconds"),
        (
            format!("{hook}{command}cache_ms = 99999999\n"),
            "9:12: 99999999 is not from 0 to 3600000 milliseconds",
        ),
        (format!("{hook}{command}tools = [\"a\", \"b c\"]\n"), "9:15: ' ' cannot stand in a tool pattern"),
        (format!("{hook}{command}env = [\"TOLLGATE_HOME\"]\n"), "9:8: TOLLGATE_HOME is Tollgate's own"),
        (format!("{hook}{command}env = [\"A=b\"]\n"), "9:8: \"A=b\" is no name of a variable"),
        (format!("{hook}{command}answers = \"loud\"\n"), "9:11: unknown variant `loud`"),
        (
            format!("{hook}{command}[[hook]]\nname = \"a\"\nkind = \"gate\"\non = [\"after\"]\n{command}"),
            "10:8: there are two hooks named \"a\"",
        ),
        (hook.replace("\"before\"", "") + command, "7:6: a hook that is never asked does nothing"),
        (hook.replace("\"a\"", "\" \"") + command, "5:8: a hook needs a name"),
        (hook.replace("gate", "door") + command, "6:8: unknown variant `door`"),
        ("[[hook]\n".to_owned(), "1:8: "),
    ];
    for (text, words) in cases {
        let error = read(&text, Path::new("/")).expect_err(&text);
        assert!(error.to_string().starts_with(words), "{text}\n{error}");
        assert!(!error.hint.is_empty());
    }
}
