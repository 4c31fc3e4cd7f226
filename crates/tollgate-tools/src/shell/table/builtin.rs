//! Parts of the shell that change nothing, or nothing but this shell.

use super::{
    ANY,
    Freedom::Pure,
    Operands::{Checked, Folder, Words},
    Program, program,
};
use crate::shell::script::small;

pub(super) const PROGRAMS: &[Program] = &[
    Program { freedom: Pure, ..program("echo true false") },
    Program { freedom: Pure, builtin: true, ..program(":") },
    // Absent: -v, which gives a variable a value.
    Program { raw: Some(small::printf), ..program("printf") },
    Program { options: "-L -P", ..program("pwd") },
    Program { options: "-L -P", operands: Folder, builtin: true, ..program("cd") },
    Program { options: "-a -f -p -P -t", operands: Words(ANY), builtin: true, ..program("type") },
    Program { raw: Some(small::tested), ..program("test") },
    Program {
        options: "-r -s -d= -n= -N= -t= -u=",
        operands: Checked(small::nothing),
        builtin: true,
        check: Some(small::read),
        ..program("read")
    },
    Program {
        options: "-e -u -f -o=",
        operands: Words(0),
        builtin: true,
        check: Some(small::set),
        ..program("set")
    },
    Program {
        options: "-s -u",
        operands: Words(ANY),
        builtin: true,
        needs: "-s -u",
        check: Some(small::shopt),
        ..program("shopt")
    },
    Program {
        options: "-a -S -H -c -d -e -f -i -l -m -n -p -q -r -s -t -u -v -x",
        builtin: true,
        ..program("ulimit")
    },
    Program { options: "-p -S", builtin: true, ..program("umask") },
    Program { builtin: true, ..program("times") },
    Program { options: "-d -m -s", operands: Words(ANY), builtin: true, ..program("help") },
    // Absent: -x, which runs a command.
    Program { options: "-l -n -p -r -s", builtin: true, ..program("jobs") },
    // Absent: -c, which forgets them.
    Program { options: "-l -p -v", builtin: true, ..program("dirs") },
    Program {
        operands: Words(1),
        builtin: true,
        check: Some(small::number),
        ..program("exit break continue")
    },
];
