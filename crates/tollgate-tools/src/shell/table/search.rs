//! Programs that search.

use super::{
    ANY,
    Freedom::Harmless,
    Operands::{Checked, PatternThenPaths, Words},
    Program, Style, program,
};
use crate::shell::script::find;

const GREP: &str = "-a -A= -b -B= -c -C= -d= -D= -e= -E -f=r -F -G -h -H -i -I -l -L -m= -n -o -P -q -r -R -s -T -U -u -v -V -w -x \
                    -y -z -Z --after-context= --before-context= --context= --basic-regexp --extended-regexp --fixed-strings \
                    --perl-regexp --regexp= --file=r --ignore-case --no-ignore-case --invert-match --word-regexp \
                    --line-regexp --count --color? --colour? --files-without-match --files-with-matches --max-count= \
                    --only-matching --quiet --silent --no-messages --byte-offset --with-filename --no-filename --label= \
                    --line-number --initial-tab --null --null-data --text --binary-files= --devices= --directories= \
                    --exclude= --exclude-from=r --exclude-dir= --include= --recursive --dereference-recursive \
                    --line-buffered --binary --no-group-separator --group-separator=";

pub(super) const PROGRAMS: &[Program] = &[
    Program {
        options: GREP,
        operands: PatternThenPaths,
        digits: true,
        freedom: Harmless,
        ..program("grep egrep fgrep")
    },
    Program {
        options: "-a -A= -b -B= -c -C= -e= -E -F -h -H -i -l -L -m= -n -o -P -q -s -v -w -x --ignore-case --count --line-number \
                  --files-with-matches --word-regexp --invert-match --regexp= --only-matching --max-count= --color?",
        operands: PatternThenPaths,
        digits: true,
        ..program("zgrep zegrep zfgrep bzgrep xzgrep zstdgrep")
    },
    // Absent: --pre, --hostname-bin, -z and --search-zip (run programs), --generate.
    Program {
        options: "-a -A= -b -B= -c -C= -d= -e= -E= -f=r -F -g= -H -I -i -j= -L -l -m= -M= -N -n -o -p -P -q -r= -s -S -t= -T= -u -U -v \
                  -V -w -x -. -0 --after-context= --before-context= --context= --context-separator= \
                  --no-context-separator --color= --colors= --column --no-column --count --count-matches --crlf --debug \
                  --dfa-size-limit= --encoding= --engine= --field-context-separator= --field-match-separator= --file=r --files \
                  --files-with-matches --files-without-match --fixed-strings --follow --glob= --glob-case-insensitive --heading \
                  --no-heading --hidden --no-hidden --iglob= --ignore-case --ignore-file=r --ignore-file-case-insensitive \
                  --include-zero --invert-match --json --line-buffered --line-number --no-line-number --line-regexp \
                  --max-columns= --max-columns-preview --max-count= --max-depth= --maxdepth= --max-filesize= --mmap --no-mmap \
                  --multiline --multiline-dotall --no-binary --no-config --no-filename --no-ignore --no-ignore-dot \
                  --no-ignore-exclude --no-ignore-files --no-ignore-global --no-ignore-messages --no-ignore-parent \
                  --no-ignore-vcs --no-messages --no-require-git --no-unicode --null --null-data --one-file-system \
                  --only-matching --passthru --path-separator= --pcre2 --pretty --quiet --regex-size-limit= --regexp= \
                  --replace= --smart-case --case-sensitive --sort= --sortr= --stats --stop-on-nonmatch --text --threads= --trim \
                  --type= --type-not= --type-add= --type-clear= --type-list --unrestricted --vimgrep --with-filename \
                  --word-regexp --auto-hybrid-regex --binary --block-buffered",
        operands: PatternThenPaths,
        ..program("rg")
    },
    Program {
        options: "-a -A= -B= -c -C= -f -F -g= -G= -h -H -i -l -L -m= -n -o -Q -r -s -S -t -u -U -v -w --ignore= --ignore-dir= --hidden \
                  --nocolor --color --nogroup --group --column --count --files-with-matches --literal --word-regexp \
                  --smart-case --ignore-case --case-sensitive --depth= --nobreak --noheading --nofilename --numbers --vimgrep \
                  --python --js --cpp --cc --java --go --rust --ruby --html --css --json --md",
        operands: PatternThenPaths,
        ..program("ag")
    },
    // Absent: -x, -X, --exec, --exec-batch, -l (runs ls).
    Program {
        options: "-0 -1 -a -c= -d= -e= -E= -F -g -H -I -i -j= -L -p -q -s -S= -t= -u -o= --absolute-path --and= --base-directory=r \
                  --case-sensitive --changed-before= --changed-within= --color= --exact-depth= --exclude= --extension= \
                  --fixed-strings --follow --full-path --glob --hidden --ignore-case --max-depth= --min-depth= --max-results= \
                  --no-ignore --no-ignore-vcs --no-ignore-parent --one-file-system --owner= --path-separator= --print0 --prune \
                  --quiet --regex --relative-path --search-path=r --show-errors --size= --strip-cwd-prefix? --threads= --type= \
                  --unrestricted --newer= --older= --changed-after= --no-hidden",
        operands: PatternThenPaths,
        ..program("fd fdfind")
    },
    // Absent: -exec, -execdir, -ok, -okdir, -delete, -fprint, -fprint0, -fprintf, -fls, -files0-from.
    Program {
        options: "-H -L -P -O0 -O1 -O2 -O3 -a -and -o -or -not -amin= -anewer=r -atime= -cmin= -cnewer=r -ctime= -context= -d -daystart \
                  -depth -empty -executable -false -follow -fstype= -gid= -group= -ignore_readdir_race -ilname= \
                  -iname= -inum= -ipath= -iregex= -iwholename= -links= -lname= -ls -maxdepth= -mindepth= -mmin= -mount -mtime= \
                  -name= -newer=r -neweraa=r -newerac=r -newerat= -newermm=r -newermt= -newerct= -newercm=r -newerma=r -newermc=r \
                  -nogroup -noignore_readdir_race -noleaf -nouser -nowarn -path= -perm= -print -print0 -printf= -prune -quit \
                  -readable -regex= -regextype= -samefile=r -size= -true -type= -uid= -used= -user= -warn -wholename= -writable \
                  -xdev -xtype=",
        operands: Checked(find::paths),
        style: Style::Find,
        check: Some(find::check),
        ..program("find")
    },
    Program {
        options: "-A -b -c -e -i -l= -n= -0 -r= -w -q -S --all --basename --count --existing --ignore-case --limit= --null --regexp= \
                  --regex --wholename --quiet --statistics",
        operands: Words(ANY),
        ..program("locate mlocate plocate")
    },
];
