//! Programs that read text and print text.

use super::{
    ANY,
    Freedom::{Harmless, Pure},
    Operands::{Checked, Paths, Words},
    Program, Style, program,
};
use crate::shell::script::{awk, sed, small};

const SUMS: &str =
    "-b -t -c -w -z --binary --text --check --tag --zero --ignore-missing --quiet --status --strict --warn";

pub(super) const PROGRAMS: &[Program] = &[
    Program {
        options: "-A -b -e -E -n -s -t -T -u -v --show-all --number-nonblank --show-ends --number --squeeze-blank \
                  --show-tabs --show-nonprinting",
        operands: Paths(ANY),
        freedom: Harmless,
        ..program("cat")
    },
    Program {
        options: "-b -r -s= --before --regex --separator=",
        operands: Paths(ANY),
        freedom: Harmless,
        ..program("tac")
    },
    Program { operands: Paths(ANY), freedom: Harmless, ..program("rev") },
    Program {
        options: "-b= -d= -f= -h= -i= -l= -n= -p -s= -v= -w= --body-numbering= --number-format= --number-separator= \
                  --number-width= --starting-line-number= --line-increment= --no-renumber --section-delimiter= \
                  --footer-numbering= --header-numbering= --join-blank-lines=",
        operands: Paths(ANY),
        freedom: Harmless,
        ..program("nl")
    },
    Program {
        options: "-c= -n= -q -v -z --bytes= --lines= --quiet --silent --verbose --zero-terminated",
        operands: Paths(ANY),
        digits: true,
        freedom: Harmless,
        ..program("head tail")
    },
    Program {
        options: "-c -m -l -L -w --bytes --chars --lines --words --max-line-length --total=",
        operands: Paths(ANY),
        freedom: Harmless,
        ..program("wc")
    },
    // Absent: -o, --output, --compress-program, -T, and --files0-from, which reads files that nobody named.
    Program {
        options: "-b -d -f -g -i -h -k= -M -n -R -r -V -c -C -m -s -S= -t= -u -z --ignore-leading-blanks \
                  --dictionary-order --ignore-case --general-numeric-sort --ignore-nonprinting --human-numeric-sort \
                  --month-sort --numeric-sort --random-sort --random-source=r --reverse --sort= --version-sort --check? \
                  --key= --merge --stable --buffer-size= --field-separator= --unique --zero-terminated --parallel= \
                  --batch-size= --debug",
        operands: Paths(ANY),
        ..program("sort")
    },
    // A second operand is the file it writes.
    Program {
        options: "-c -d -D -f= -i -s= -u -w= -z --count --repeated --all-repeated? --skip-fields= --group? --ignore-case \
                  --skip-chars= --unique --zero-terminated --check-chars=",
        operands: Paths(1),
        ..program("uniq")
    },
    Program {
        options: "-b= -c= -d= -f= -n -s -z --bytes= --characters= --delimiter= --fields= --complement --only-delimited \
                  --output-delimiter= --zero-terminated",
        operands: Paths(ANY),
        freedom: Harmless,
        ..program("cut")
    },
    Program {
        options: "-c -C -d -s -t --complement --delete --squeeze-repeats --truncate-set1",
        operands: Words(2),
        ..program("tr")
    },
    Program {
        options: "-d= -s -z --delimiters= --serial --zero-terminated",
        operands: Paths(ANY),
        freedom: Harmless,
        ..program("paste")
    },
    Program {
        options: "-a= -e= -i -j= -o= -t= -v= -1= -2= -z --ignore-case --check-order --nocheck-order --header \
                  --zero-terminated",
        operands: Paths(2),
        freedom: Harmless,
        ..program("join")
    },
    Program {
        options: "-1 -2 -3 -z --check-order --nocheck-order --output-delimiter= --total --zero-terminated",
        operands: Paths(2),
        freedom: Harmless,
        ..program("comm")
    },
    Program {
        options: "-b -s -w= --bytes --spaces --width=",
        operands: Paths(ANY),
        digits: true,
        freedom: Harmless,
        ..program("fold")
    },
    Program {
        options: "-c -p= -s -t -u -w= -g= --crown-margin --prefix= --split-only --tagged-paragraph --uniform-spacing --width= --goal=",
        operands: Paths(ANY),
        digits: true,
        freedom: Harmless,
        ..program("fmt")
    },
    Program {
        options: "-i -t= -a --initial --tabs= --all --first-only",
        operands: Paths(ANY),
        digits: true,
        freedom: Harmless,
        ..program("expand unexpand")
    },
    Program {
        options: "-t -s= -x -c= -n -e -N= -o= -R= -H= -l= -J -T= -W= -d -L --table --separator= --fillrows --columns= \
                  --output-width= --table-columns= --output-separator= --table-right= --table-hide= --json --table-name= \
                  --table-truncate= --table-noheadings --keep-empty-lines",
        operands: Paths(ANY),
        freedom: Harmless,
        ..program("column")
    },
    Program {
        options: "-A= -t= -N= -j= -w? -v -c -x -b -d -o -h -i -s -a -f -l -S= --address-radix= --format= --read-bytes= \
                  --skip-bytes= --strings? --output-duplicates --width? --endian=",
        operands: Paths(ANY),
        freedom: Harmless,
        ..program("od")
    },
    Program {
        options: "-b -c -C -d -e= -n= -o -s= -v -x -L? --canonical --one-byte-octal --one-byte-char --two-bytes-decimal \
                  --two-bytes-octal --two-bytes-hex --format= --length= --skip= --no-squeezing --color?",
        operands: Paths(ANY),
        ..program("hexdump hd")
    },
    // A second operand is the file it writes. Its options are words of their own: `-ps` is not `-p -s`.
    Program {
        options: "-a -autoskip -b -bits -c= -cols= -C -capitalize -e -E -g= -groupsize= -i -include -l= -len= -p -ps -plain -postscript \
                  -r -revert -s= -seek= -u",
        operands: Paths(1),
        style: Style::Long,
        ..program("xxd")
    },
    Program {
        options: "-a -d -f -n= -o -t= -e= -s= -w -T= --all --data --print-file-name --bytes= --radix= --encoding= \
                  --include-all-whitespace --output-separator=",
        operands: Paths(ANY),
        digits: true,
        check: Some(small::no_response_file),
        ..program("strings")
    },
    Program {
        options: "-d -D -i -w= --decode --ignore-garbage --wrap=",
        operands: Paths(1),
        freedom: Harmless,
        ..program("base64 base32")
    },
    Program {
        options: "-d -i -w= --decode --ignore-garbage --wrap= --base64 --base64url --base32 --base32hex --base16 --base2msbf \
                  --base2lsbf --z85",
        operands: Paths(1),
        ..program("basenc")
    },
    Program {
        options: SUMS,
        operands: Paths(ANY),
        freedom: Harmless,
        ..program("md5sum sha1sum sha224sum sha256sum sha384sum sha512sum")
    },
    Program {
        options: "-a= -b -c -l= -t -w -z --algorithm= --check --length= --tag --untagged --raw --zero --ignore-missing --quiet --status --strict --warn",
        operands: Paths(ANY),
        freedom: Harmless,
        ..program("b2sum cksum")
    },
    Program { options: "-r -s --sysv", operands: Paths(ANY), freedom: Harmless, ..program("sum") },
    Program {
        options: "-a= -b -c -p -t -U -0 -s -q --algorithm= --binary --check --text --status --warn --quiet --ignore-missing --strict --tag",
        operands: Paths(ANY),
        ..program("shasum")
    },
    // Absent: -l, --paginate (runs `pr`).
    Program {
        options: "-a -b -B -c -C= -d -e -E -F= -H -i -I= -L= -n -N -p -P -q -r -s -S= -t -T -u -U= -w -W= -x= -X=r -y -Z \
                  -D= --normal --brief --report-identical-files --context? --unified? --ed --rcs --side-by-side --width= \
                  --left-column --suppress-common-lines --show-c-function --show-function-line= --label= --expand-tabs \
                  --initial-tab --tabsize= --suppress-blank-empty --recursive --no-dereference --new-file \
                  --unidirectional-new-file --ignore-file-name-case --exclude= --exclude-from=r --starting-file= \
                  --from-file=r --to-file=r --ignore-case --ignore-tab-expansion --ignore-trailing-space \
                  --ignore-space-change --ignore-all-space --ignore-blank-lines --ignore-matching-lines= --text \
                  --strip-trailing-cr --minimal --horizon-lines= --speed-large-files --color? --palette= --ifdef= \
                  --line-format= --old-line-format= --new-line-format= --unchanged-line-format= --old-group-format= \
                  --new-group-format= --changed-group-format= --unchanged-group-format=",
        operands: Paths(ANY),
        ..program("diff")
    },
    Program {
        options: "-b -i= -l -n= -s --print-bytes --ignore-initial= --verbose --bytes= --quiet --silent",
        operands: Paths(4),
        freedom: Harmless,
        ..program("cmp")
    },
    Program {
        options: "-f= -t= -l -c -s --from-code= --to-code= --list --silent",
        operands: Paths(ANY),
        ..program("iconv")
    },
    Program { operands: Paths(1), freedom: Harmless, ..program("tsort") },
    Program {
        options: "-a -C? -e= -f= -i= -o= -s= -S= -W= -x --check-sourced --color? --enable= --exclude= --external-sources --format= \
                  --include= --norc --severity= --shell= --wiki-link-count=",
        operands: Paths(ANY),
        ..program("shellcheck")
    },
    // Absent: -o, --output.
    Program {
        options: "-e -i= -n= -r -z --echo --input-range= --head-count= --random-source=r --repeat --zero-terminated",
        operands: Checked(small::shuffled),
        ..program("shuf")
    },
    Program {
        options: "-d= -z --from= --to= --format= --suffix= --padding= --round= --header? --field= --delimiter= --grouping --invalid= \
                  --from-unit= --to-unit= --zero-terminated",
        operands: Words(ANY),
        ..program("numfmt")
    },
    Program { operands: Words(ANY), freedom: Pure, ..program("factor") },
    Program {
        options: "-f= -s= -w --format= --separator= --equal-width",
        operands: Words(3),
        digits: true,
        freedom: Pure,
        ..program("seq")
    },
    Program { freedom: Pure, ..program("yes expr") },
    // Absent: -i, --in-place, -f, --file.
    Program {
        options: "-e= -E -n -r -s -u -z -l= --expression= --regexp-extended --quiet --silent --separate --unbuffered --null-data \
                  --posix --debug --sandbox --line-length=",
        operands: Checked(sed::paths),
        check: Some(sed::check),
        ..program("sed")
    },
    // Absent: -f, -i, -l, -E, -o and every other way to more code.
    Program {
        options: "-F= -v= --field-separator= --assign= --posix --traditional --re-interval",
        operands: Checked(awk::paths),
        check: Some(awk::check),
        ..program("awk gawk mawk nawk")
    },
    Program {
        options: "-a -c -C -e -j -M -n -r -R -s -S --arg=2 --argjson=2 --args --jsonargs --ascii-output --color-output \
                  --compact-output --exit-status --from-file=r -f=r --indent= --join-output --monochrome-output --null-input \
                  --raw-input --raw-output --raw-output0 --rawfile=2r --slurpfile=2r --seq --slurp --sort-keys --stream \
                  --stream-errors --tab --unbuffered",
        operands: Checked(small::jq_paths),
        ..program("jq")
    },
    // Absent: -i, --inplace, -s, --split-exp, --from-file, --front-matter.
    Program {
        options: "-r -e -n -N -P -C -M -o= -p= -I= -y -Y -c -j --raw-output --unwrapScalar? --exit-status --null-input --no-doc \
                  --prettyPrint --colors --no-colors --output-format= --input-format= --indent= --yaml-output --compact-output \
                  --tojson",
        operands: Checked(small::yq_paths),
        check: Some(small::yq),
        ..program("yq")
    },
    Program {
        options: "-a -i --append --ignore-interrupts",
        operands: Checked(small::nothing),
        check: Some(small::only_null),
        ..program("tee")
    },
    Program {
        options: "-d -f -h= -i? -l= -n? -o= -t -T -w= -W= -s? -m -J -e? -D= --omit-header --length= --columns=",
        operands: Paths(ANY),
        digits: true,
        ..program("pr")
    },
    Program { options: "-h -m -j -q -s -3 -y", operands: Words(3), digits: true, ..program("cal ncal") },
    Program {
        options: "-f -q -v",
        operands: Paths(ANY),
        ..program("zcat gzcat bzcat xzcat lzcat zstdcat lz4cat")
    },
];
