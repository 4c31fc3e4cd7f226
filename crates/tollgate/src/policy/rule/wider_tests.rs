//! A wider rule is told from a narrower one, and never the other way round.

use std::path::Path;

use crate::{
    policy::{Query, Rule, Stance},
    tool::{Access, Effects, Resource, Scope, ToolSpec},
};

fn rule(stance: Stance, text: &str) -> Rule {
    Rule::parse(stance, text).expect(text)
}

#[test]
fn a_wider_rule_is_seen_to_be_wider() {
    for (wide, narrow) in [
        ("shell(git *)", "shell(git push *)"),
        ("shell(git push *)", "shell(git push origin *)"),
        ("shell(*)", "shell(make)"),
        ("read(**)", "read(./src/**)"),
        ("read(./src)", "read(./src/a.rs)"),
        ("read(./src/**)", "read(./src/deep/*.rs)"),
        ("host(example.com)", "host(api.example.com)"),
        ("host(*)", "host(*.example.com)"),
        ("rea*", "read_file"),
        ("*", "write_file"),
        ("shell", "shell"),
    ] {
        assert!(rule(Stance::Deny, wide).includes(&rule(Stance::Allow, narrow)), "{wide} {narrow}");
    }
    for (one, other) in [
        ("shell(git push *)", "shell(git *)"),
        ("shell(git push)", "shell(git push *)"),
        ("read(./src/*.rs)", "read(./src/**)"),
        ("read(./s*)", "read(./src/**)"),
        ("read(./src/**)", "write(./src/a)"),
        ("read(./src)", "read(./srcs/a)"),
        ("host(api.example.com)", "host(example.com)"),
        ("read_*", "write_file"),
    ] {
        assert!(!rule(Stance::Deny, one).includes(&rule(Stance::Allow, other)), "{one} {other}");
    }
}

#[test]
fn what_the_narrower_rule_means_the_wider_one_means() {
    let texts = [
        "shell(git *)",
        "shell(git push *)",
        "shell(git push)",
        "shell(git -C x push *)",
        "shell(*)",
        "shell(/usr/bin/git *)",
        "shell(g* push)",
        "read(**)",
        "read(./a/**)",
        "read(./a)",
        "read(./a/*)",
        "read(./a/b*)",
        "read(/w/a/**)",
        "read(**/a)",
        "write(./a/**)",
        "read(./**)",
        "host(*)",
        "host(e.com)",
        "host(*.e.com)",
        "host(e.*)",
        "host(x.e.com)",
    ];
    let command = |line: &str| Resource::Command { command: line.split(' ').map(str::to_owned).collect() };
    let path = |path: &str, access| Resource::Path { path: path.into(), access };
    let mut things: Vec<_> = [
        "git",
        "git push",
        "git push origin",
        "git -C x push",
        "git -C x push o",
        "/usr/bin/git push",
        "/opt/git push",
        "g push",
        "go push",
        "make all",
        "git status -s push",
    ]
    .map(command)
    .into();
    for at in ["a", "a/b", "a/bc", "a/b/c", "b", "/w/a/x", "/w", "/x/a", "/x/a/y"] {
        things.extend([path(at, Access::Read), path(at, Access::Write)]);
    }
    things.extend(
        ["e.com", "x.e.com", "y.x.e.com", "e.org", "xe.com"].map(|host| Resource::Host { host: host.into() }),
    );
    let scope = Scope::new(crate::guard::Run::new("r"), crate::guard::Workspace::new(Path::new("/w")));
    let tool = ToolSpec::new("t", "", serde_json::json!({})).expect("a name");
    let (args, effects) = (serde_json::Value::Null, Effects::reading());
    let query = Query::new(&tool, &args, &effects, &scope);
    let mut included = 0;
    for (wide, narrow) in texts.iter().flat_map(|wide| texts.iter().map(move |narrow| (wide, narrow))) {
        let wider = rule(Stance::Deny, wide);
        for narrower in [Stance::Allow, Stance::Ask].map(|stance| rule(stance, narrow)) {
            if wider.includes(&narrower) {
                included += 1;
                for thing in things.iter().filter(|thing| narrower.touches(thing, &query)) {
                    assert!(wider.touches(thing, &query), "{wide} {narrow} {thing:?}");
                }
            }
        }
    }
    assert!(included > 2 * texts.len(), "{included}");
}
