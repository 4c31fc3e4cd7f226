//! `find … -exec program … {} \;`: what it finds is read where the program only reads, whatever file it is.

use tollgate::tool::Part;

use super::{
    Why, table,
    walk::Walk,
    word::{Value, Word},
    wrapper,
};

/// What stands between the words of `find`: its own, and the commands it runs.
struct Split<'w> {
    own: Vec<Word>,
    runs: Vec<&'w [Word]>,
    /// Each is run by `-exec` and ends as it should.
    plain: bool,
}

/// Reads the words; `None` where nothing is run.
fn split(words: &[Word]) -> Option<Split<'_>> {
    let (mut split, mut at) = (Split { own: Vec::new(), runs: Vec::new(), plain: true }, 0);
    while let Some(word) = words.get(at) {
        at += 1;
        let text = word.text().unwrap_or_default();
        if !runs(text) {
            split.own.push(word.clone());
            // The word after one of these is its value, whatever it looks like.
            if takes_a_value(text)
                && let Some(value) = words.get(at)
            {
                split.plain &= !value.text().is_some_and(runs);
                split.own.push(value.clone());
                at += 1;
            }
            continue;
        }
        let rest = &words[at..];
        let ends = |at: usize| match rest[at].text() {
            Some(";") => true,
            Some("+") => at > 0 && rest[at - 1].text() == Some("{}"),
            _ => false,
        };
        let end = (0..rest.len()).find(|at| ends(*at));
        split.plain &= text == "-exec" && end.is_some();
        let end = end.unwrap_or(rest.len());
        split.runs.push(&rest[..end]);
        split.own.push(Word::fixed("-print"));
        at += end + 1;
    }
    (!split.runs.is_empty()).then_some(split)
}

fn runs(text: &str) -> bool {
    matches!(text, "-exec" | "-execdir" | "-ok" | "-okdir")
}

fn takes_a_value(text: &str) -> bool {
    let known = "-name -iname -path -ipath -wholename -iwholename -regex -iregex -lname -ilname -type -xtype -size -perm -user -group \
                 -uid -gid -links -inum -samefile -maxdepth -mindepth -fstype -context -used -mtime -mmin -atime -amin -ctime -cmin \
                 -newer -anewer -cnewer -printf -fprint -fprint0 -fls -regextype -files0-from -D";
    known.split_ascii_whitespace().any(|option| option == text) || text.starts_with("-newer")
}

/// Where the search begins, as far as that is known: each of them is what `{}` begins with.
fn starts(own: &[Word]) -> Vec<Word> {
    let links = |word: &&Word| matches!(word.text(), Some("-H" | "-L" | "-P"));
    let first = |word: &&Word| !word.shown().starts_with(['-', '(', '!', ',']);
    let folders: Vec<Word> = own.iter().skip_while(links).take_while(first).cloned().collect();
    if folders.is_empty() { vec![Word::fixed(".")] } else { folders }
}

impl Walk<'_> {
    /// Judges a `find` that runs something; `None` where it runs nothing.
    pub(super) fn find_that_runs(&mut self, words: &[Word]) -> Option<Result<(), Why>> {
        let split = split(&words[1..])?;
        self.leaf(words);
        let starts = starts(&split.own);
        for run in &split.runs {
            self.found_in(run, &starts);
        }
        let known = self.only_reads_what_it_finds(&split, &starts);
        if known.is_err() {
            for run in split.runs {
                // Looked at for whoever has a rule about it.
                self.judge(run).ok();
            }
        }
        Some(known)
    }

    fn only_reads_what_it_finds(&mut self, split: &Split<'_>, starts: &[Word]) -> Result<(), Why> {
        let runs = || Why::Runs("find".to_owned());
        let program = table::find("find").filter(|_| split.plain).ok_or_else(runs)?;
        // What it finds begins like this, and so cannot be taken for an option, or for a file of options.
        let steady = |start: &&str| {
            start.starts_with(|c: char| c.is_ascii_alphanumeric() || "._/".contains(c))
                && !start.contains(['*', '?', '['])
        };
        let known = starts.iter().all(|start| start.text().is_some_and(|start| steady(&start)));
        let start = starts[0].text().filter(|_| known).ok_or_else(runs)?;
        self.program_with(program, "find", &split.own)?;
        for run in &split.runs {
            let (first, rest) = run.split_first().ok_or_else(runs)?;
            let name = first.text().and_then(table::system_name).ok_or_else(runs)?;
            let program = table::find(name).filter(|program| !program.builtin).ok_or_else(runs)?;
            if wrapper::unwrap(name, rest).is_some() {
                return Err(runs());
            }
            let any = format!("{}/*", start.trim_end_matches('/'));
            let filled = |word: &Word| match word.text() {
                Some("{}") => Ok(Word { value: Value::Glob(any.clone()), source: word.source.clone() }),
                Some(text) if !text.contains("{}") => Ok(word.clone()),
                _ => Err(runs()),
            };
            let filled = rest.iter().map(filled).collect::<Result<Vec<_>, _>>()?;
            self.program_with(program, name, &filled)?;
            self.leaf(run);
        }
        Ok(())
    }

    /// The command with what it finds filled in, for rules.
    fn found_in(&mut self, run: &[Word], starts: &[Word]) {
        let filled = |word: &Word| word.text().is_some_and(|text| text.contains("{}"));
        let Some(first) = run.first() else { return };
        let script = first.text().is_some_and(|name| {
            // What it fills in, another program may take for a script; not what stands behind one.
            match wrapper::unwrap(name, &run[1..]) {
                Some(wrapper::Unwrapped::Script { text, .. }) => text.contains("{}"),
                Some(_) => true,
                None => false,
            }
        });
        if first.text().is_none() || filled(first) || script {
            return self.anything();
        }
        if !run.iter().any(filled) {
            return;
        }
        for start in starts {
            let start = start.text().unwrap_or_default();
            let part = |word: &Word| match word.text().and_then(|text| text.split_once("{}")) {
                Some((before, _)) => Part::Begins(format!("{before}{start}")),
                None => word.part(),
            };
            self.unclear.push(run.iter().map(part).collect());
        }
    }
}
