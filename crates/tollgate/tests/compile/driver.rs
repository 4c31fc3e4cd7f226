//! Runs a folder of programs: what must not compile, each beside a twin that does.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail as loudly as tests")]

use std::path::{Path, PathBuf};

const FOLDER: &str = "tests/compile";

/// Checks every program of a folder against its expected message, and that its twin compiles.
pub(crate) fn run(folder: &str) {
    let cases = trybuild::TestCases::new();
    for program in programs(folder) {
        // Without a twin, an unrelated mistake could be what keeps the program from compiling.
        let twin = twin_of(&program);
        assert!(twin.exists(), "{} has no twin {}", program.display(), twin.display());
        cases.compile_fail(&program);
        cases.pass(&twin);
    }
}

/// Checks that no program of a folder is expected to give more than one error.
pub(crate) fn one_error_each(folder: &str) {
    for program in programs(folder) {
        #[expect(clippy::disallowed_methods, reason = "a test reads what it expects")]
        let message = std::fs::read_to_string(program.with_extension("stderr")).unwrap();
        let errors = message.lines().filter(|line| line.starts_with("error")).count();
        assert_eq!(errors, 1, "{}:\n{message}", program.display());
    }
}

/// The programs that must not compile.
fn programs(folder: &str) -> Vec<PathBuf> {
    let folder = Path::new(FOLDER).join(folder);
    let mut programs: Vec<_> = folder.read_dir().unwrap().map(|entry| entry.unwrap().path()).collect();
    programs.retain(|path| path.extension().is_some_and(|extension| extension == "rs") && !is_twin(path));
    programs.sort();
    assert!(!programs.is_empty(), "{} is empty", folder.display());
    programs
}

fn is_twin(program: &Path) -> bool {
    program.file_stem().is_some_and(|name| name.to_string_lossy().ends_with("_ok"))
}

fn twin_of(program: &Path) -> PathBuf {
    let name = program.file_stem().unwrap().to_string_lossy();
    program.with_file_name(format!("{name}_ok.rs"))
}
