//! Runs a folder of programs: what must not compile, each beside a twin that does.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail as loudly as tests")]

use std::path::{Path, PathBuf};

/// Checks every program of a folder under `tests/compile` against its expected message, and its twin.
pub(crate) fn run(folder: &str) {
    let folder = Path::new("tests/compile").join(folder);
    let programs: Vec<_> = programs(&folder).into_iter().filter(|path| !is_twin(path)).collect();
    assert!(!programs.is_empty(), "{} is empty", folder.display());
    let cases = trybuild::TestCases::new();
    for program in programs {
        // Without a twin, an unrelated mistake could be what keeps the program from compiling.
        let twin = twin_of(&program);
        assert!(twin.exists(), "{} has no twin {}", program.display(), twin.display());
        cases.compile_fail(&program);
        cases.pass(&twin);
    }
}

fn programs(folder: &Path) -> Vec<PathBuf> {
    let mut programs: Vec<_> = folder.read_dir().unwrap().map(|entry| entry.unwrap().path()).collect();
    programs.retain(|path| path.extension().is_some_and(|extension| extension == "rs"));
    programs.sort();
    programs
}

fn is_twin(program: &Path) -> bool {
    program.file_stem().is_some_and(|name| name.to_string_lossy().ends_with("_ok"))
}

fn twin_of(program: &Path) -> PathBuf {
    let name = program.file_stem().unwrap().to_string_lossy();
    program.with_file_name(format!("{name}_ok.rs"))
}
