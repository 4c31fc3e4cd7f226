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

/// Everything is allowed but one command, and each of these lines may run it.
fn asked(lines: &[&str]) {
    let rules = ["allow shell", "deny shell(git push *)"];
    for line in lines {
        assert_ne!(decided(&rules, line), Decision::Allow, "{line}");
    }
}

#[test]
fn a_command_in_a_part_that_is_not_understood_is_still_asked_about() {
    asked(&[
        "echo ${x:-`git push`}",
        "echo \"${x:-`git push`}\"",
        "echo ${x:-$(git push)}",
        "echo `echo \\`git push\\``",
        "cat <<EOF\n`git push`\nEOF",
        "cat <<EOF\n$(git push)\nEOF",
        "cat <<-EOF\n\t$(git push)\n\tEOF",
        "cat <<-EOF\n\t`git push`\n\tEOF",
        "cat <<A <<B\nx\nA\n`git push`\nB",
        "git 2>/dev/null push",
        "git </dev/null push",
        "git >/dev/null 2>&1 push",
        "env </dev/null git push",
        "eval 2>/dev/null 'git push'",
        "echo push | xargs 2>/dev/null git",
        "git <<EOF 2>/dev/null push\nx\nEOF",
        "{ git; } 2>/dev/null push",
        "true; case x in $(git push)) echo hi;; esac",
        "case ${y:-$(git push)} in a) echo;; esac",
        "for x in ${y:-$(git push)}; do echo; done",
        "for i in {a,$(git push)}; do :; done",
        "! if :; then git push; fi",
        "! ! git push",
        "time ! git push",
        "time x=1 git push",
        "coproc if :; then git push; fi",
        "cat < a $\ngit push",
        "IFS=,; a=git,push; $a",
        "x='$(git push)'; echo ${x@P}",
        "f() { git push; }",
        "(( a[$(git push)] ))",
        "ls\n\\git push",
        "git {fd}>o push",
        "exec {fd}>o git push",
        "git pu{s..s}h",
        "git {,push}",
        "sh -c 'echo a &>o git push'",
        "sh -c \"echo \\$'a\\\\'; git push; #'\"",
        "zsh -c 'noglob git push'",
    ]);
}

#[test]
fn the_command_of_a_wrapper_is_found_whichever_of_its_options_take_a_value() {
    asked(&[
        "exec -a foo git push",
        "flock -w 5 l git push",
        "flock l -c 'git push'",
        "strace -o f git push",
        "watch -n 1 git push",
        "/usr/bin/time -o f git push",
        "/usr/bin/time -f %e git push",
        "env -C . git push",
        "setarch x86_64 git push",
        "setarch x86_64 -R git push",
        "bwrap --bind / / git push",
        "xargs -a f git push",
        "xargs -E x git push",
        "xargs --arg-file f git push",
        "xargs --process-slot-var x git push",
        "xargs -I% git %",
        "xargs -0I% git %",
        "xargs --replace=% git %",
        "env -S'git push'",
        "env -vS 'git push'",
        "env --split-string='git push'",
        "bash -c -- 'git push'",
        "bash -c -e 'git push'",
        "bash -c -o posix 'git push'",
        "trap -- 'git push' EXIT",
        "fdfind . -Hx git push",
        "fdfind . -HX git push",
        "linux64 git push",
        "i386 git push",
        "x86_64 -R git push",
        "choom -n 1 -- git push",
        "capsh -- -c 'git push'",
        "script -c 'git push'",
        "script -qc 'git push' f",
        "sudo -u bob git push",
        "sudo -u bob timeout 5 git push",
        "uv run git push",
        "mise exec -- git push",
        "docker exec -it c git push",
        "tmux new -d 'git push'",
        "hyperfine true 'git push'",
        "echo 'git push' | at now",
        "xargs $(echo git push) </dev/null",
        "find . -exec true \\; -exec git push \\;",
        "find . -exec sh -c 'git {}' \\;",
        "\"$HOME\"/bin/git push",
        "find . -maxdepth 0 ! -name -exec -exec git push \\;",
        "find push -maxdepth 0 -exec git {} \\;",
        "echo push > x; xargs -a x git",
        "script -c'git push' /dev/null",
        "runuser root -c 'git push'",
        "/lib64/ld-linux-x86-64.so.2 /usr/bin/git push",
        "direnv exec . git push",
        "nodemon --exec 'git push'",
    ]);
}

#[test]
fn what_git_runs_for_others_meets_the_rules_too() {
    asked(&[
        "git rebase -x 'git push' main",
        "git rebase --exec='git push' main",
        "git bisect run git push",
        "git difftool -y -x 'git push'",
        "git grep -O'git push' x",
        "git submodule foreach 'git push'",
        "git submodule foreach git push",
        "git -c core.editor='git push' commit",
        "git -ccore.editor='git push' commit",
        "GIT_EDITOR='git push' git commit",
        "GIT_EXTERNAL_DIFF='git push' git diff",
        "export EDITOR='git push'; git commit",
        "env EDITOR='git push' git commit",
        "git -c include.path=x p",
        "HOME=. git p",
        "env HOME=. git p",
        "env GIT_CONFIG_GLOBAL=x git p",
        "GIT_CONFIG_GLOBAL=x git p",
        "/usr/lib/git-core/git-push",
        "git-push origin",
        "git -c my.repo=. for-each-repo --config=my.repo push",
        "git submodule --quiet foreach --recursive git push",
        "export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=alias.x GIT_CONFIG_VALUE_0=push; git x",
        "declare -x GIT_CONFIG_GLOBAL=f; git x",
    ]);
}

#[test]
fn what_the_shell_counts_keeps_or_reads_later_meets_the_rules_too() {
    asked(&[
        "test -v 'a[$(git push)]'",
        "[ -v 'a[$(git push)]' ]",
        "[[ -v 'a[$(git push)]' ]]",
        "[[ 'a[$(git push)]' -eq 1 ]]",
        "let 'a[$(git push)]=1'",
        "printf -v 'a[$(git push)]' x",
        "read 'a[$(git push)]' <<< 1",
        "x='a[$(git push)]'; [[ $x -eq 1 ]]",
        "echo $((a[$(git push)]))",
        "compgen -C 'git push'",
        "compgen -W '$(git push)'",
        "complete -C 'git push' x",
        "mapfile -C 'git push' -c 1 x < f",
        "PS4='$(git push)'; set -x; true",
        "BASH_ENV=f bash -c true",
        "env 'BASH_FUNC_ls%%=() { git push; }' bash -c ls",
        "LESSOPEN='|git push' less f",
        "hash -p /usr/bin/git ls; ls push",
        "sh -c 'alias g=git\ng push'",
        "set -o posix; alias g=git\ng push",
        "batch <<< 'git push'",
    ]);
}

#[test]
fn a_script_that_the_line_writes_could_be_anything() {
    asked(&[
        "echo 'git push' > s; bash ./s",
        "echo 'git push' > s.sh; . ./s.sh",
        "echo 'git push' > ./s; chmod +x s; ./s",
        "dd of=s <<< 'git push'; bash s",
        "sort -o s <<< 'git push'; bash s",
        "sed -n '1w s' <<< 'git push'; bash s",
        "mkdir d; printf 'git push' > d/s; cd d; bash s",
        "printf 'git push' > \"$PWD/s\"; bash s",
        "printf x > s; chmod +x s; find . -name s -exec {} \\;",
        "printf 'all:;git push' > m; make -f m",
        "printf x | make -f -",
        "alias p='git push'; shopt -s expand_aliases\np",
        "echo 'git push' > g; chmod +x g; PATH=.:$PATH g",
        "echo 'git push' > x; find . -maxdepth 1 -name x -exec sh {} \\;",
        "echo 'git push' | sponge x; sh x",
    ]);
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
        "git commit -m 'git push comes later; `rm` too, $(not run)'",
        "git -c user.name='A B' commit -m x",
        "git rebase -x 'cargo test' main",
        "git bisect run cargo test",
        "GIT_EDITOR=true git rebase --continue",
        "GIT_SSH_COMMAND='ssh -i key' git pull",
        "CC=clang make",
        "sudo -u bob make install",
        "flock -w 5 l make",
        "strace -f -o f make",
        "docker run --rm -it image make",
        "uv run pytest -k 'a b'",
        "cat > a <<'EOF'\n`git push`\nEOF\ncat > b <<'EOF'\n$(git push)\nEOF",
        "cat > a <<EOF\n$x ${y:-z}\nEOF",
        "echo \"${x:-$(date)}\"",
        "python3 -c 'a[1]; print(\"git push\")'",
        "gh pr create --body 'Use `git push`, do not'",
        "xargs -n 1 -P 4 wc",
        "find . -name '*.o' -exec wc {} +",
        "fd -e rs -x wc",
        "timeout -k 5 10 cargo test",
        "export FOO=bar; make",
        "export PATH=\"$HOME/.cargo/bin:$PATH\" && cargo test",
        "chmod +x a.sh && ./a.sh",
        "source \"$HOME/.cargo/env\" && cargo build",
        "$HOME/.cargo/bin/cargo test",
        "foo() { cargo test \"$@\"; }; foo --lib",
        "((i++))",
        "for ((i=0;i<3;i++)); do make; done",
        "find . -name '*.pyc' -exec rm -f {} +",
        "find . -type f -exec sh -c 'wc -l \"$1\"' _ {} \\;",
        "for f in *.sh; do bash -n \"$f\"; done",
        "docker exec -it x sh",
        "alias ll='ls -l'",
        "gcc -o app main.c && ./app",
        "make 2>/dev/null all",
        "nohup make > log 2>&1 &",
    ] {
        assert_eq!(decided(&rules, line), Decision::Allow, "{line}");
    }
    for line in ["git $x", "git pu*", "eval \"$x\"", "printf x | sh", "git -c alias.p=push p"] {
        assert_eq!(decided(&["allow shell"], line), Decision::Allow, "{line}");
    }
    assert_eq!(decided(&["allow shell(git *)"], "git $x \"$y\" z*"), Decision::Allow);
}

#[test]
fn a_line_that_could_be_read_in_very_many_ways_is_asked_about_soon() {
    let rules = ["allow shell", "deny shell(git push *)"];
    for (part, end) in [
        ("sudo -a ", "ls"),
        ("exec -- ", "ls"),
        ("git bisect run ", "ls"),
        ("find . -exec ", "ls"),
        ("xargs ", "ls"),
        ("nice ", "ls"),
        ("echo $(", ""),
        ("$(", ""),
        ("`", ""),
    ] {
        let line = part.repeat(9_000 / part.len()) + end;
        assert_eq!(decided(&rules, &line), Decision::Ask, "{part}");
        assert!(of(&line, None, None).touches.len() < 200, "{part}");
    }
}
