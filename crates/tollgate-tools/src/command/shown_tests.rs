use super::*;
use crate::shell::analyse;

fn holds(line: &str, file: &str) -> bool {
    let leaves = analyse(line).leaves;
    let (top, folder) = (Path::new("/w"), Path::new("/w/src"));
    leaves.iter().filter_map(shown).any(|shown| shown.holds(&top.join(file), top, folder))
}

#[test]
fn a_command_of_git_prints_what_its_words_reach() {
    for line in [
        "git diff",
        "git diff HEAD~1 --stat -p",
        "git -C x diff",
        "git grep KEY",
        "git grep KEY -- :/",
        "git grep KEY -- :/secret",
        "git grep KEY HEAD -- ../secret",
        "git blame ../secret/key",
        "git log -p",
        "git log --patch -- ../secret",
        "git show",
        "git show HEAD",
        "git show HEAD:secret/key",
        "git show HEAD:./../secret/key",
        "git show HEAD -- '*.key'",
        "git cat-file -p HEAD:secret/key",
        "git cat-file --batch",
        "git stash show -p",
        "git status -vv",
        "git diff-files -p",
        "git diff-index -U3 HEAD",
        "nice git diff",
        "git diff -- . :!other ../secret",
        "git show -s HEAD:secret/key",
        "git show --stat HEAD:secret/key",
        "git show 'HEAD@{2090-01-01 10:00:00}'",
        "git show :/message",
        "git show :2:secret/key",
        "git blame ../secret/key HEAD",
        "git log --full-diff -p -- .",
        "git --literal-pathspecs log -p -- . ':!../secret'",
        "git --icase-pathspecs log -p -- ../SECRET",
        "git grep TOP HEAD:secret -- key",
        "git diff HEAD:secret HEAD~1:secret -- key",
        "git log --check",
        "git diff --check HEAD~1",
        "git config --blob HEAD:secret/key --list",
        "git config --blob=HEAD:secret/key --list",
        "git --git-dir ../.git show HEAD:secret/key",
        "git --attr-source HEAD show HEAD:secret/key",
        "git archive HEAD",
        "git fast-export HEAD",
        "git format-patch --stdout HEAD~1",
        "git worktree add wt",
        "git clone . x",
        "git diff HEAD~1 -- \"$PWD/../secret\"",
        "/usr/lib/git-core/git-show HEAD:secret/key",
        "git commit -v --dry-run",
    ] {
        assert!(holds(line, "secret/key"), "{line}");
    }
    for line in [
        "git status",
        "git log --oneline",
        "git log --stat",
        "git show --stat",
        "git show --name-only HEAD",
        "git diff --name-only",
        "git show HEAD:src/a.rs",
        "git show HEAD:./a.rs",
        "git diff -- .",
        "git diff -- :/ :!../secret",
        "git blame a.rs",
        "git grep KEY -- .",
        "git cat-file -t HEAD:secret/key",
        "git branch",
        "git config --list",
        "git commit -m x",
        "git checkout main",
        "git stash",
        "git worktree list",
        "git show HEAD:src/a:b",
        "cat a",
    ] {
        assert!(!holds(line, "secret/key"), "{line}");
    }
}
