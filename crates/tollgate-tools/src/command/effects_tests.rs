use serde_json::json;
use tollgate::{
    Scope, ToolSpec,
    guard::{Run, Workspace},
    policy::{Decision, Layers, Policy as _, Query, Rule, Stance},
};

use super::of;

/// What the rules, `allow …` and `deny …` or `ask …`, say of a command line.
fn decided(rules: &[&str], line: &str) -> Decision {
    let rule = |text: &&str| {
        let (word, rule) = text.split_once(' ').unwrap();
        let stance = match word {
            "allow" => Stance::Grant,
            "ask" => Stance::Ask,
            _ => Stance::Deny,
        };
        Rule::parse(stance, rule).unwrap()
    };
    let policy = Layers::new(rules.iter().map(rule).collect());
    let mut shell = ToolSpec::new("shell", "", json!({"type": "object"})).unwrap();
    shell.requires_permission = false;
    let scope = Scope::new(Run::builder("rules").build(), Workspace::with_roots("/w", vec!["/w".into()]));
    let (args, effects) = (json!({"command": line}), of(line, None, None));
    policy.decide(&Query::new(&shell, &args, &effects, &scope)).decision
}

#[test]
fn a_word_that_is_only_known_when_it_runs_does_not_dodge_a_rule_it_could_decide() {
    let rules = ["allow shell(git *)", "deny shell(git push *)"];
    for line in [
        "git ${x:-push}",
        "git $(echo push)",
        "git \"$(echo push)\" origin",
        "git pu*",
        "git pus?",
        "git [p]ush",
        "git pu$x",
        "git -C d $x",
        "git $x main",
        "git -c alias.p=push p",
        "git -calias.p=push p",
        "git --config-env=alias.p=P p",
        "echo push | xargs git",
        "echo push | xargs -I{} git {}",
        "find push -exec git {} \\;",
    ] {
        assert_ne!(decided(&rules, line), Decision::Allow, "{line}");
    }
    let rules = ["allow shell(echo *)", "deny shell(echo hello *)"];
    assert_eq!(decided(&rules, "echo ${x:-hello} world"), Decision::Ask);
    let rules = ["allow shell(rm *)", "deny shell(rm -rf *)"];
    for line in ["rm $(echo -rf) x", "rm \"$f\"", "rm -r $f", "rm *"] {
        assert_eq!(decided(&rules, line), Decision::Ask, "{line}");
    }
}

#[test]
fn commands_from_elsewhere_ask_where_a_rule_tightens_commands() {
    let rules = ["allow shell", "deny shell(git push *)"];
    for line in [
        "$(echo git) push",
        "$x",
        "\"$x\" push",
        "eval \"$x\"",
        "printf 'git push' | sh",
        "bash <<< 'git push'",
        "bash <<EOF\ngit push\nEOF",
        "bash -s < script",
        "bash /dev/stdin",
        "bash -c \"$x\"",
        "bash -c 'git \"$1\"' _ push",
        "bash $x",
        "source <(echo git push)",
        "env $x push",
        "timeout 5 $x push",
        "xargs sh -c 'git {}'",
        "watch 'git push'",
        "env -S 'git push'",
        "parallel git ::: push",
        "alias p='git push'",
        "GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=alias.p GIT_CONFIG_VALUE_0=push git p",
    ] {
        assert_ne!(decided(&rules, line), Decision::Allow, "{line}");
    }
    for line in ["eval git push", "eval 'git push'", "eval git 'push origin'", "sudo git push"] {
        assert_eq!(decided(&rules, line), Decision::Deny, "{line}");
    }
}

#[test]
fn nobody_is_asked_where_no_rule_could_mean_the_words() {
    let rules = ["allow shell", "deny shell(git push *)", "ask shell(rm -rf *)"];
    for line in [
        "git commit -m \"$msg\"",
        "git log $range",
        "git add *.rs",
        "echo $x",
        "cargo test $name",
        "for f in *; do cat \"$f\"; done",
        "rm \"./$f\"",
        "rm *.o src/*",
        "bash build.sh",
        "bash -c 'git status'",
        "bash --version",
        "find . -name \"$x\" -exec cat {} \\;",
        "ls | xargs wc -l",
        "source env.sh",
        "eval echo hello",
        "env X=1 git status",
    ] {
        assert_eq!(decided(&rules, line), Decision::Allow, "{line}");
    }
    for line in ["git $x", "git pu*", "eval \"$x\"", "printf x | sh", "git -c alias.p=push p"] {
        assert_eq!(decided(&["allow shell"], line), Decision::Allow, "{line}");
    }
    assert_eq!(decided(&["allow shell(git *)"], "git $x \"$y\" z*"), Decision::Allow);
}
