//! git: commands that only read, once what a repository could have it run is switched off (see `git.rs`).

use super::{
    ANY,
    Operands::{None as Nothing, Paths, Revisions, Words},
    Program, program,
};
use crate::shell::git as checks;

/// Options of everything that shows differences. Absent: --ext-diff, --textconv, --output.
macro_rules! diff_options {
    ($more:literal) => {
        concat!(
            "-p -u -s -U? -a -b -w -z -M? -B? -C? -D -R -S= -G= -W -X? -l= -1 -2 -3 -0 ",
            "--patch --no-patch --unified? --raw --patch-with-raw --indent-heuristic --no-indent-heuristic --minimal --patience ",
            "--histogram --anchored= --diff-algorithm= --stat? --compact-summary --numstat --shortstat --dirstat? --cumulative ",
            "--summary --patch-with-stat --name-only --name-status --color? --no-color --color-moved? --no-color-moved ",
            "--color-moved-ws= --word-diff? --word-diff-regex= --color-words? --no-renames --rename-empty --no-rename-empty ",
            "--check --ws-error-highlight= --full-index --binary --abbrev? --break-rewrites? --find-renames? --find-copies? ",
            "--find-copies-harder --irreversible-delete --diff-filter= --pickaxe-all --pickaxe-regex -I= --relative? --no-relative ",
            "--text --ignore-cr-at-eol --ignore-space-at-eol --ignore-space-change --ignore-all-space --ignore-blank-lines ",
            "--ignore-matching-lines= --inter-hunk-context= --function-context --exit-code --quiet --no-ext-diff --no-textconv ",
            "--ignore-submodules? --src-prefix= --dst-prefix= --no-prefix --default-prefix --line-prefix= --stat-width= ",
            "--stat-name-width= --stat-count= --stat-graph-width= --merge-base --submodule? ",
            $more
        )
    };
}

const DIFF: &str = diff_options!("--cached --staged --no-index --cc -c --base --ours --theirs");
/// Options of everything that walks history. Absent: --show-signature.
macro_rules! walk_options {
    ($more:literal) => {
        concat!(
            diff_options!(""),
            "-n= -E -F -P -i -q -g -c -m --cc --oneline --graph --no-graph --all --branches? --tags? --remotes? --glob= --exclude= ",
            "--not --decorate? --no-decorate --source --follow --log-size --max-count= --skip= --since= --after= --until= ",
            "--before= --since-as-filter= --author= --committer= --grep= --all-match --invert-grep --grep-reflog= ",
            "--regexp-ignore-case --basic-regexp --extended-regexp --fixed-strings --perl-regexp --remove-empty --merges ",
            "--no-merges --min-parents? --max-parents? --no-min-parents --no-max-parents --first-parent --cherry-pick ",
            "--cherry-mark --cherry --left-only --right-only --left-right --walk-reflogs --merge --boundary ",
            "--simplify-by-decoration --full-history --dense --sparse --simplify-merges --ancestry-path? --show-pulls --date-order ",
            "--author-date-order --topo-order --reverse --no-walk? --do-walk --pretty? --format? --abbrev-commit ",
            "--no-abbrev-commit --encoding= --expand-tabs? --no-expand-tabs --notes? --no-notes --show-notes? --relative-date ",
            "--date= --parents --children --diff-merges= --no-diff-merges --dd --remerge-diff -t --mailmap --no-mailmap ",
            "--use-mailmap --no-use-mailmap --full-diff --ignore-missing --reflog --clear-decorations --no-commit-id --root -r ",
            $more
        )
    };
}

const LOG: &str = walk_options!("-L= --decorate-refs= --decorate-refs-exclude=");
/// Beneath `git log`: what it alone takes a value for is a word on its own here, and the next word another option.
const BENEATH: &str = walk_options!("");

pub(super) const PROGRAMS: &[Program] = &[Program {
    options: "-C=r -P -c= --no-pager --no-optional-locks --literal-pathspecs --glob-pathspecs --noglob-pathspecs --icase-pathspecs \
              --no-replace-objects --no-lazy-fetch",
    check: Some(checks::given),
    subcommands: COMMANDS,
    ..program("git")
}];

const COMMANDS: &[Program] = &[
    Program {
        options: "-s -b -v -u? -z --short --branch --show-stash --no-show-stash --porcelain? --long --verbose --untracked-files? \
                  --ignore-submodules? --ignored? --column? --no-column --ahead-behind --no-ahead-behind --renames --no-renames \
                  --find-renames?",
        operands: Paths(ANY),
        ..program("status")
    },
    Program {
        options: LOG,
        operands: Revisions,
        digits: true,
        check: Some(checks::formats),
        ..program("log show whatchanged")
    },
    Program { options: DIFF, operands: Revisions, ..program("diff") },
    Program {
        options: BENEATH,
        operands: Revisions,
        digits: true,
        check: Some(checks::formats),
        ..program("diff-tree diff-index diff-files")
    },
    Program {
        options: LIST_REVISIONS,
        operands: Revisions,
        digits: true,
        check: Some(checks::formats),
        ..program("rev-list")
    },
    Program {
        options: "-s -n -e -c -w? --summary --numbered --email --committer --group= --format= --all --no-merges --merges --since= \
                  --until= --after= --before= --author= --grep= --max-count= --first-parent --branches? --tags? --remotes?",
        operands: Revisions,
        check: Some(checks::formats),
        ..program("shortlog")
    },
    Program {
        options: "--date= --left-right --no-notes --no-dual-color --creation-factor= --no-patch -s --stat? --color? --no-color",
        operands: Revisions,
        ..program("range-diff")
    },
    Program {
        options: "-b -l -t -p -n -f -s -e -w -c -L= -M? -C? -S=r --root --show-stats --porcelain --line-porcelain --incremental --encoding= \
                  --show-name --show-number --show-email --abbrev? --date= --since= --first-parent --reverse --ignore-rev= \
                  --ignore-revs-file=r --color-lines --color-by-age --no-progress --score-debug --minimal",
        operands: Revisions,
        ..program("blame annotate")
    },
    // Absent: -O, --open-files-in-pager, --textconv.
    Program {
        options: "-a -A= -B= -c -C= -e= -E -f=r -F -G -h -H -i -I -l -L -m= -n -o -p -P -q -r -v -w -W -z --after-context= --all-match --and \
                  --basic-regexp --before-context= --break --cached --color? --no-color --column --context= --count \
                  --exclude-standard --no-exclude-standard --extended-regexp --files-with-matches --files-without-match \
                  --fixed-strings --full-name --function-context --heading --ignore-case --invert-match --line-number --max-count= \
                  --max-depth= --name-only --no-index --no-recursive --no-textconv --not --null --only-matching --or --perl-regexp \
                  --quiet --recurse-submodules --recursive --show-function --text --threads= --untracked --word-regexp",
        operands: Revisions,
        digits: true,
        ..program("grep")
    },
    Program {
        options: "-a -r -v -vv -i -q --all --remotes --verbose --list --show-current --contains=+ --no-contains=+ --merged=+ --no-merged=+ \
                  --points-at= --sort= --format= --color? --no-color --column? --no-column --abbrev? --no-abbrev --ignore-case \
                  --omit-empty",
        operands: Words(ANY),
        check: Some(checks::lists),
        ..program("branch")
    },
    Program {
        options: "-l -n? -i --list --sort= --format= --contains=+ --no-contains=+ --merged=+ --no-merged=+ --points-at= --color? --column? \
                  --no-column --ignore-case --omit-empty",
        operands: Words(ANY),
        check: Some(checks::lists),
        ..program("tag")
    },
    Program { options: "-v --verbose", alone: true, subcommands: REMOTE, ..program("remote") },
    Program {
        options: "-l -z -f=r --list --get --get-all --get-regexp --get-urlmatch --global --local --system --worktree --file=r --blob= --name-only \
                  --null --show-origin --show-scope --type= --bool --int --bool-or-int --path --expiry-date --no-type --default= \
                  --includes --no-includes --all --regexp --value= --fixed-value",
        operands: Words(3),
        check: Some(checks::config),
        ..program("config")
    },
    Program {
        options: "-q --verify --quiet --short? --symbolic --symbolic-full-name --abbrev-ref? --all --branches? --tags? --remotes? --glob= \
                  --exclude= --show-toplevel --show-cdup --show-prefix --git-dir --git-common-dir --absolute-git-dir --is-inside-git-dir \
                  --is-inside-work-tree --is-bare-repository --is-shallow-repository --show-superproject-working-tree --git-path= \
                  --show-object-format? --show-ref-format --not --sq --revs-only --no-revs --flags --no-flags --default= --prefix= \
                  --since= --until= --after= --before= --disambiguate= --path-format= --resolve-git-dir= --local-env-vars \
                  --shared-index-path --end-of-options",
        operands: Words(ANY),
        ..program("rev-parse")
    },
    Program {
        options: "-c -d -m -o -i -s -k -t -v -u -z -f -x= -X=r --cached --deleted --modified --others --ignored --stage --directory \
                  --no-empty-directory --killed --unmerged --eol --exclude= --exclude-from=r --exclude-per-directory= \
                  --exclude-standard --error-unmatch --with-tree= --full-name --recurse-submodules --abbrev? --debug --deduplicate \
                  --sparse --format= --resolve-undo",
        operands: Paths(ANY),
        ..program("ls-files")
    },
    Program {
        options: "-d -r -t -l -z --long --name-only --name-status --object-only --full-name --full-tree --abbrev? --format=",
        operands: Revisions,
        ..program("ls-tree")
    },
    // Absent: --textconv, --filters.
    Program {
        options: "-t -s -e -p -Z -z --allow-unknown-type --batch? --batch-check? --batch-all-objects --unordered --follow-symlinks --buffer \
                  --use-mailmap --no-mailmap --filter=",
        operands: Words(2),
        ..program("cat-file")
    },
    Program {
        options: "-q -d -s --head --heads --branches --tags --dereference --hash? --verify --abbrev? --quiet --exclude-existing? --exists",
        operands: Words(ANY),
        ..program("show-ref")
    },
    Program {
        options: "--count= --sort= --format= --color? --points-at= --merged=+ --no-merged=+ --contains=+ --no-contains=+ --ignore-case \
                  --omit-empty --exclude= --include-root-refs --stdin -s -p --shell --perl --python --tcl",
        operands: Words(ANY),
        check: Some(checks::formats),
        ..program("for-each-ref")
    },
    // A second word sets it.
    Program {
        options: "-q --short --quiet --recurse --no-recurse",
        operands: Words(1),
        ..program("symbolic-ref")
    },
    Program {
        options: "-a --all --octopus --is-ancestor --independent --fork-point",
        operands: Words(ANY),
        ..program("merge-base")
    },
    Program { options: "-v --abbrev?", operands: Words(3), ..program("cherry") },
    Program {
        options: "--dirty? --broken? --all --tags --contains --abbrev? --candidates= --exact-match --debug --long --match= --exclude= --always --first-parent",
        operands: Words(ANY),
        ..program("describe")
    },
    Program {
        options: "--tags --refs= --exclude= --all --annotate-stdin --name-only --no-undefined --always",
        operands: Words(ANY),
        ..program("name-rev")
    },
    Program {
        options: "-r -a --remotes --all --current --topo-order --date-order --sparse --more= --list --merge-base --independent --no-name --sha1-name --topics --color? --no-color",
        operands: Words(ANY),
        ..program("show-branch")
    },
    Program { options: "-v -H --verbose --human-readable", ..program("count-objects") },
    Program {
        options: "-q -v -n -z --quiet --verbose --stdin --non-matching --no-index",
        operands: Paths(ANY),
        ..program("check-ignore")
    },
    Program {
        options: "-a -z --all --cached --stdin --source=",
        operands: Words(ANY),
        ..program("check-attr")
    },
    Program {
        options: "-t= --stdin --no-filters --literally",
        operands: Paths(ANY),
        ..program("hash-object")
    },
    Program { subcommands: STASH, ..program("stash") },
    Program {
        options: LOG,
        operands: Nothing,
        digits: true,
        alone: true,
        check: Some(checks::formats),
        subcommands: REFLOG,
        ..program("reflog")
    },
    Program { subcommands: WORKTREE, ..program("worktree") },
    Program { subcommands: NOTES, ..program("notes") },
    Program { subcommands: BISECT, ..program("bisect") },
    Program {
        options: "-n -d -x -X -q -e= --dry-run --quiet --exclude=",
        operands: Paths(ANY),
        needs: "-n --dry-run",
        ..program("clean")
    },
    // Absent: --apply, --index, --cached and whatever else would do it.
    Program {
        options: "-p= -R -v -C= --check --stat --numstat --summary --directory= --exclude= --include= --ignore-space-change --ignore-whitespace --verbose --reverse --unidiff-zero --recount",
        operands: Paths(ANY),
        needs: "--check --stat --numstat --summary",
        ..program("apply")
    },
    Program { options: "--build-options", ..program("version") },
    Program { options: "-l", operands: Words(1), ..program("var") },
    // A word would start the viewer of the configuration's choice.
    Program {
        options: "-a -c -g --all --config --guides --no-aliases --no-external-commands --no-verbose",
        needs: "-a -c -g --all --config --guides",
        ..program("help")
    },
];

const LIST_REVISIONS: &str = "-n= -E -F -P -i -g --all --branches? --tags? --remotes? --glob= --exclude= --not --count --objects --objects-edge \
    --max-count= --skip= --since= --after= --until= --before= --author= --committer= --grep= --merges --no-merges --min-parents? \
    --max-parents? --first-parent --cherry-pick --cherry-mark --left-only --right-only --left-right --boundary --full-history --dense \
    --sparse --simplify-merges --simplify-by-decoration --ancestry-path? --date-order --topo-order --author-date-order --reverse \
    --no-walk? --do-walk --pretty? --format? --abbrev-commit --abbrev? --oneline --graph --date= --parents --children --timestamp \
    --header --no-commit-header --commit-header --disk-usage? --quiet --bisect --no-object-names --object-names --filter? --stdin";

const REMOTE: &[Program] = &[
    Program { options: "--push --all", operands: Words(1), ..program("get-url") },
    // Without -n it asks the server.
    Program { options: "-n", operands: Words(ANY), check: Some(checks::remote_show), ..program("show") },
];
const STASH: &[Program] = &[
    Program {
        options: LOG,
        operands: Words(ANY),
        digits: true,
        check: Some(checks::formats),
        ..program("list")
    },
    Program {
        options: BENEATH,
        operands: Words(1),
        digits: true,
        check: Some(checks::formats),
        ..program("show")
    },
];
const REFLOG: &[Program] = &[
    Program {
        options: LOG,
        operands: Words(ANY),
        digits: true,
        check: Some(checks::formats),
        ..program("show")
    },
    Program { operands: Words(1), ..program("exists") },
];
const WORKTREE: &[Program] = &[Program { options: "-v -z --verbose --porcelain", ..program("list") }];
const NOTES: &[Program] = &[Program { operands: Words(1), ..program("list show") }];
const BISECT: &[Program] = &[Program { ..program("log") }];
