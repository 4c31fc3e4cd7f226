//! tar: listing, or unpacking to the standard output, of a file on this machine.

use crate::shell::{Why, options::Parsed, word::Word};

/// Absent: everything that makes, changes or unpacks files, or names a program.
pub(in crate::shell) const OPTIONS: &str = "-t -v -f= -z -j -J -a -Z -x -O -p -R --list --verbose --file= --gzip --gunzip --bzip2 --xz --zstd --lzma --auto-compress \
     --extract --get --to-stdout --wildcards --no-wildcards --exclude= --strip-components= --full-time --utc --numeric-owner --force-local \
     --block-number --quoting-style=";

/// Letters that may stand in a first word without a dash.
const BUNDLE: &str = "tvfzjJaZxOpR";

/// A list, or an unpacking to the standard output, of an archive that is a file.
pub(in crate::shell) fn check(name: &str, parsed: &Parsed<'_>) -> Result<(), Why> {
    let bundle = bundle(parsed);
    if let Some(letters) = bundle
        && !letters.chars().all(|letter| BUNDLE.contains(letter))
    {
        return Err(Why::option(name, letters));
    }
    let modes = ["-t", "-x", "--list", "--extract", "--get", "-f", "--file"];
    if bundle.is_some() && modes.iter().any(|option| parsed.has(option)) {
        return Err(Why::operand(
            name,
            "letters without a dash take the next words, whatever they look like",
        ));
    }
    let given = |long: &[&str], letter: char| {
        long.iter().any(|option| parsed.has(option)) || bundle.is_some_and(|letters| letters.contains(letter))
    };
    let lists = given(&["-t", "--list"], 't');
    let unpacks = given(&["-x", "--extract", "--get"], 'x');
    let prints = given(&["-O", "--to-stdout"], 'O');
    if !(lists && !unpacks || unpacks && prints && !lists) {
        return Err(Why::operand(name, "it does more than list"));
    }
    // `host:file` is read through another program.
    let archives = ["-f", "--file"].into_iter().flat_map(|option| parsed.values(option));
    let mut archives: Vec<_> = archives.map(|value| value.map(str::to_owned)).collect();
    if bundle.is_some_and(|letters| letters.contains('f')) {
        archives.push(parsed.operands.get(1).and_then(|word| word.text()).map(str::to_owned));
    }
    if archives.iter().all(|archive| archive.as_ref().is_some_and(|archive| !archive.contains(':'))) {
        Ok(())
    } else {
        Err(Why::operand(name, "the archive may be on another machine"))
    }
}

/// The archive. Further words are names inside it.
pub(in crate::shell) fn paths(parsed: &Parsed<'_>) -> Vec<Word> {
    let options = ["-f", "--file"].into_iter().flat_map(|option| parsed.values(option)).flatten();
    let mut paths: Vec<_> = options.map(Word::fixed).collect();
    if bundle(parsed).is_some_and(|letters| letters.contains('f')) {
        paths.extend(parsed.operands.get(1).map(|word| (*word).clone()));
    }
    paths
}

/// The first word where it is letters without a dash, as `tvf`.
fn bundle<'p>(parsed: &'p Parsed<'_>) -> Option<&'p str> {
    if parsed.plain_first { parsed.operands.first()?.text() } else { None }
}
