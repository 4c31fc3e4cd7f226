//! Programs that look at files and folders, not into them.

use super::{
    ANY,
    Freedom::{Harmless, Pure},
    Operands::{Paths, Words},
    Program, program,
};

const LS: &str = "-a -A -b -B -c -C -d -D -f -F -g -G -h -H -i -I= -k -l -L -m -n -N -o -p -q -Q -r -R -s -S -t -T= -u -U -v \
                  -w= -x -X -Z -1 --all --almost-all --author --escape --block-size= --ignore-backups --color? --directory \
                  --dired --classify? --file-type --format= --full-time --group-directories-first --no-group \
                  --human-readable --si --dereference-command-line --dereference-command-line-symlink-to-dir --hide= \
                  --hyperlink? --indicator-style= --inode --ignore= --kibibytes --dereference --numeric-uid-gid --literal \
                  --hide-control-chars --show-control-chars --quote-name --quoting-style= --reverse --recursive --size \
                  --sort= --time= --time-style= --tabsize= --width= --context --zero";

pub(super) const PROGRAMS: &[Program] = &[
    Program { options: LS, operands: Paths(ANY), freedom: Harmless, ..program("ls dir vdir") },
    // Absent: -o, -R (which runs itself with -o), -H, --fromfile.
    Program {
        options: "-a -A -c -C -d -D -f -F -g -h -i -I= -J -l -L= -n -N -p -P= -q -Q -r -s -S -t -u -U -v -x -X --charset= \
                  --device --dirsfirst --filesfirst --du --filelimit= --gitignore --info --inodes --matchdirs --metafirst \
                  --ignore-case --noreport --prune --si --sort= --timefmt=",
        operands: Paths(ANY),
        ..program("tree")
    },
    Program {
        options: "-c= -f -L -t --format= --printf= --terse --dereference --file-system --cached=",
        operands: Paths(ANY),
        freedom: Harmless,
        ..program("stat")
    },
    Program {
        options: "-0 -a -A -b -B= -c -d= -D -h -H -k -l -L -m -P -s -S -t= -x -X=r --all --apparent-size --block-size= --bytes \
                  --total --dereference-args --max-depth= --human-readable --inodes --count-links --dereference \
                  --no-dereference --separate-dirs --si --summarize --threshold= --time? --time-style= --exclude= \
                  --exclude-from=r --one-file-system --null",
        operands: Paths(ANY),
        freedom: Harmless,
        ..program("du")
    },
    Program {
        options: "-a -B= -h -H -i -k -l -m -P -t= -T -x= --all --block-size= --human-readable --si --inodes --local --no-sync \
                  --output? --portability --total --type= --print-type --exclude-type=",
        operands: Paths(ANY),
        ..program("df")
    },
    // Absent: -C (writes), -p (touches), -z, -Z, -m, -S, -f (reads files that a file names).
    Program {
        options: "-b -E -F= -h -i -I -k -L -l -n -N -r -s -v -0 --brief --mime --mime-type --mime-encoding --separator= \
                  --dereference --no-dereference --keep-going --no-buffer --no-pad --raw --extension --apple --print0 \
                  --special-files",
        operands: Paths(ANY),
        ..program("file")
    },
    Program {
        options: "-f -e -m -n -q -s -v -z --canonicalize --canonicalize-existing --canonicalize-missing --no-newline --quiet \
                  --silent --verbose --zero",
        operands: Paths(ANY),
        freedom: Harmless,
        ..program("readlink")
    },
    Program {
        options: "-e -m -L -P -q -s -z -E --canonicalize-existing --canonicalize-missing --logical --physical --quiet \
                  --relative-to=r --relative-base=r --strip --no-symlinks --zero",
        operands: Paths(ANY),
        freedom: Harmless,
        ..program("realpath")
    },
    Program { freedom: Pure, ..program("basename dirname") },
    Program { options: "-p -P --portability", operands: Words(ANY), ..program("pathchk") },
    Program {
        options: "-m -o -l -n -v -x --modes --owners --long --nosymlinks --vertical",
        operands: Paths(ANY),
        ..program("namei")
    },
    Program { options: "-a -d -l -p -R -v", operands: Paths(ANY), ..program("lsattr") },
    Program {
        options: "-a -c -d -e -E -n -p -R -L -P -s -t --access --default --omit-header --all-effective --recursive --logical --physical --tabular --numeric --absolute-names",
        operands: Paths(ANY),
        ..program("getfacl")
    },
    Program {
        options: "-d -n= -e= -h -m= -R -L -P --dump --name= --encoding= --no-dereference --match= --only-values --recursive --absolute-names",
        operands: Paths(ANY),
        ..program("getfattr")
    },
    Program {
        options: "-a -b -d -e= -f -h -i -I= -J -l -m -n -o= -O -p -P -r -s -S -t -T? -z -x= --all --bytes --json --list --output= --noheadings --fs --paths --pairs --raw --tree?",
        operands: Paths(ANY),
        ..program("lsblk")
    },
    Program {
        options: "-A -a -b -c -D -f -J -l -n -o= -P -r -R -t= -T= -u --all --json --list --output= --noheadings --raw --types= --target= --source= -S= --df -s",
        operands: Words(2),
        ..program("findmnt")
    },
    Program { options: "-l", ..program("mount") },
    Program {
        options: "-a -s --all --skip-alias --skip-dot --skip-tilde --show-dot --show-tilde",
        operands: Words(ANY),
        ..program("which")
    },
    Program { options: "-b -m -s -u -l", operands: Words(ANY), ..program("whereis") },
    // Absent: whatever starts a pager or builds a cache.
    Program {
        options: "-1 -a -A -B -d -D -f -F -g -G -h -H -i -I= -l -L= -m -n -r -R -s= -S -t= -T -u -U -x --all --long --tree --level= \
                  --oneline --grid --across --recurse --classify? --color? --colour? --icons? --sort= --reverse --group \
                  --header --inode --links --blocks --group-directories-first --only-dirs --only-files --ignore-glob= \
                  --time= --time-style= --git-ignore --no-permissions --no-filesize --no-user --no-time --bytes --binary",
        operands: Paths(ANY),
        ..program("eza exa")
    },
];
