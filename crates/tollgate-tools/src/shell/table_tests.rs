//! The table itself: well formed, nothing twice, and nothing in it that is known to write, run or talk.

use std::collections::HashSet;

use super::table::{FAMILIES, Program, find};

fn every(programs: &'static [Program], above: &str, found: &mut Vec<(String, &'static Program)>) {
    for program in programs {
        for name in program.names() {
            let full = format!("{above}{name}");
            every(program.subcommands, &format!("{full} "), found);
            found.push((full, program));
        }
    }
}

fn all() -> Vec<(String, &'static Program)> {
    let mut found = Vec::new();
    FAMILIES.iter().for_each(|(_, programs)| every(programs, "", &mut found));
    found
}

#[test]
fn every_option_is_written_in_full_and_once() {
    for (name, program) in all() {
        let mut seen = HashSet::new();
        for entry in program.options.split_ascii_whitespace() {
            let end = entry.find(['=', '?']).unwrap_or(entry.len());
            let (option, takes) = entry.split_at(end);
            assert!(option.starts_with('-') && option.len() > 1, "{name}: {entry}");
            assert!(["", "=", "=r", "=2", "=2r", "=+", "=n", "?"].contains(&takes), "{name}: {entry}");
            assert!(program.option(option).is_some(), "{name}: {entry} is not found again");
            assert!(seen.insert(option), "{name}: {option} stands twice");
        }
        for needed in program.needs.split_ascii_whitespace() {
            assert!(seen.contains(needed), "{name} needs {needed}, which it does not have");
        }
    }
}

#[test]
fn no_program_stands_twice() {
    let mut seen = HashSet::new();
    for (name, _) in all() {
        assert!(seen.insert(name.clone()), "{name} stands twice");
    }
    assert!(seen.len() > 200, "{} entries", seen.len());
}

#[test]
fn options_that_write_run_or_talk_are_absent() {
    let absent = [
        ("sort", "-o --output --compress-program -T --temporary-directory"),
        ("uniq", "--output"),
        ("sed", "-i --in-place -f --file"),
        (
            "awk",
            "-f --file -i --include -l --load -E --exec -e --source -o --pretty-print -p --profile -d --dump-variables -D --debug",
        ),
        ("find", "-exec -execdir -ok -okdir -delete -fprint -fprint0 -fprintf -fls"),
        ("rg", "--pre --pre-glob --hostname-bin -z --search-zip"),
        ("fd", "-x -X --exec --exec-batch -l --list-details"),
        ("tree", "-o -R -H"),
        ("file", "-C --compile -z --uncompress -Z -m --magic-file -p --preserve-date"),
        ("date", "-s --set"),
        ("hostname", "-F --file -b --boot -f --fqdn"),
        (
            "dmesg",
            "-c -C --clear --read-clear -D -E -n --console-off --console-on --console-level -H --human -w --follow",
        ),
        (
            "journalctl",
            "--rotate --flush --sync --vacuum-size --vacuum-time --vacuum-files --setup-keys --update-catalog -H -M -f",
        ),
        (
            "tar",
            "-c -r -u -A -I -F -C -P -k --create --append --update --delete --to-command --use-compress-program --checkpoint-action --rsh-command --info-script --remove-files",
        ),
        ("unzip", "-T -o -d -n -f -u -j"),
        ("gzip", "-r -S --recursive --suffix --rsyncable"),
        ("less", "-o"),
        ("iconv", "-o --output"),
        ("shuf", "-o --output"),
        ("yq", "-i --inplace -s --split-exp"),
        ("jq", "-L -i --in-place"),
        ("diff", "-l --paginate"),
        ("crontab", "-e -r -i"),
        ("sysctl", "-w --write -p --load --system"),
        ("strings", "--output-file"),
        ("printf", "-v"),
        ("read", "-p -e -i -a"),
        ("df", "--sync"),
        ("git", "-p --paginate --exec-path --git-dir --work-tree --config-env --namespace"),
        ("git log", "--output --ext-diff --textconv --show-signature -O"),
        ("git diff", "--output --ext-diff --textconv -O"),
        ("git show", "--output --ext-diff --textconv --show-signature"),
        ("git grep", "-O --open-files-in-pager --textconv"),
        (
            "git branch",
            "-d -D -m -M -c -C -f -u --delete --move --copy --force --set-upstream-to --unset-upstream --edit-description --create-reflog -t --track -l",
        ),
        ("git tag", "-a -s -u -f -d -v -m -F -e --annotate --sign --delete --verify --force --create-reflog"),
        (
            "git config",
            "--add --unset --unset-all --replace-all --rename-section --remove-section -e --edit --set",
        ),
        ("git cat-file", "--textconv --filters --path"),
        ("git hash-object", "-w"),
        ("git diff-files", "--output -L --decorate-refs"),
        ("git stash show", "--output -L --decorate-refs"),
        ("git clean", "-f --force -i --interactive"),
        ("git apply", "--apply --index --cached -3 --3way --intent-to-add --reject"),
        ("git symbolic-ref", "-d --delete -m"),
        ("git blame", "--contents"),
    ];
    let table = all();
    for (name, options) in absent {
        let Some((_, program)) = table.iter().find(|(known, _)| known == name) else {
            assert_eq!(name, "less", "{name} is not in the table");
            continue;
        };
        for option in options.split(' ') {
            assert!(program.option(option).is_none(), "{name} {option}");
        }
    }
}

#[test]
fn programs_that_write_run_or_talk_are_absent() {
    let absent = "rm mv cp ln mkdir rmdir touch chmod chown truncate shred install dd2 tee2 kill pkill curl wget ssh scp rsync nc ping dig host \
                  nslookup telnet ftp sh bash zsh dash ksh fish python python3 node ruby perl php lua make cmake cargo npm pip go docker \
                  kubectl systemctl service mount.nfs umount reboot shutdown eval exec source . trap export alias unset declare local \
                  typeset readonly let enable bind hash history fc sudo su doas xargs parallel watch nohup setsid busybox less more man vi vim \
                  nano ed ex at batch crond ldd gdb strace openssl gpg sqlite3 psql mysql";
    for name in absent.split_ascii_whitespace() {
        assert!(find(name).is_none(), "{name}");
    }
}
