//! Programs that list archives or unpack them to the standard output.

use super::{
    ANY,
    Operands::{Checked, Paths},
    Program, program,
};
use crate::shell::script::{small, tar};

const UNPACK: &str = "-c -d -k -l -q -t -v -f -n -N -1 -2 -3 -4 -5 -6 -7 -8 -9 --stdout --to-stdout --decompress --uncompress --keep --list \
                      --quiet --test --verbose --force --no-name --fast --best";

pub(super) const PROGRAMS: &[Program] = &[
    Program {
        options: UNPACK,
        operands: Paths(ANY),
        check: Some(small::to_stdout),
        ..program("gzip gunzip bzip2 bunzip2 xz unxz lzma unlzma zstd unzstd")
    },
    // Absent: -T, which sets the time of the archive, and whatever unpacks into the folder.
    Program {
        options: "-1 -2 -a -b -c -C -l -p -q -t -v -z -Z",
        operands: Paths(ANY),
        needs: "-l -p -c -t -v -z -Z",
        ..program("unzip")
    },
    Program { options: "-1 -2 -C -h -l -m -s -t -T -v -z", operands: Paths(ANY), ..program("zipinfo") },
    Program {
        options: tar::OPTIONS,
        operands: Checked(tar::paths),
        check: Some(tar::check),
        ..program("tar gtar")
    },
    // Absent from these: looking up sources, which may ask a server.
    Program {
        options: "-a -A -B -C -D -g -j -n -o -p -P -r -s -S -u -v -x --demangle? --dynamic --extern-only --format= --numeric-sort --no-sort --print-size --size-sort --undefined-only --defined-only --radix=",
        operands: Paths(ANY),
        check: Some(small::no_response_file),
        ..program("nm gnm")
    },
    Program {
        options: "-a -c -d -D -e -h -i? -l -n -p? -r -s -S -t -u -V -W -x? -A -I --all --file-header --program-headers --segments --section-headers --sections --section-groups --section-details --headers --syms --symbols --dyn-syms --notes --relocs --unwind --dynamic --version-info --arch-specific --string-dump= --hex-dump= --wide",
        operands: Paths(ANY),
        check: Some(small::no_response_file),
        ..program("readelf")
    },
    Program {
        options: "-a -f -p -h -x -d -D -s -r -R -t -T -C -w -j= -M= -z --archive-headers --file-headers --private-headers --section-headers --headers --all-headers --disassemble? --disassemble-all --full-contents --reloc --dynamic-reloc --syms --dynamic-syms --demangle? --wide --section= --no-show-raw-insn --start-address= --stop-address=",
        operands: Paths(ANY),
        check: Some(small::no_response_file),
        ..program("objdump")
    },
    Program {
        options: "-A -B -G -d -o -x -t --format= --totals --common",
        operands: Paths(ANY),
        check: Some(small::no_response_file),
        ..program("size")
    },
];
