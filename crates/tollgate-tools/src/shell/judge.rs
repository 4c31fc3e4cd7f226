//! Whether a program with these words is known to only read.

use super::{
    Leaf, Why,
    options::Parsed,
    table::{self, Freedom, Operands, Program},
    walk::Walk,
    word::{Value, Word},
    wrapper,
};

impl Walk<'_> {
    /// Judges a simple command, and notes it with what it touches.
    pub(super) fn judge(&mut self, words: &[Word]) -> Result<(), Why> {
        let mut judged = Err(Why::Grammar("so deep a nesting".to_owned()));
        self.deeper(words.len(), |walk| judged = walk.judge_here(words));
        judged
    }

    fn judge_here(&mut self, words: &[Word]) -> Result<(), Why> {
        let Some((name, rest)) = words.split_first() else { return Err(Why::Empty) };
        let Some(name) = name.text() else {
            self.leaf(words);
            return Err(name.dynamic());
        };
        self.only_known_later(name, rest);
        if name.rsplit('/').next() == Some("find")
            && let Some(judged) = self.find_that_runs(words)
        {
            return judged;
        }
        if let Some(found) = wrapper::unwrap(name, rest) {
            return self.wrapped(words, found);
        }
        self.leaf(words);
        let own = table::system_name(name);
        if let Some(program) = own.and_then(table::find) {
            let judged = self.program_with(program, own.unwrap_or(name), rest);
            if judged.is_err() {
                self.guess(name, rest);
            }
            return judged;
        }
        self.guess(name, rest);
        if own.is_some_and(|own| table::tells_version(own, rest)) {
            Ok(())
        } else {
            Err(Why::Program(name.to_owned()))
        }
    }

    /// A program that starts the one in its words.
    fn wrapped(&mut self, words: &[Word], found: wrapper::Unwrapped<'_>) -> Result<(), Why> {
        self.filled(words, &found);
        self.started(words, &found);
        match found {
            wrapper::Unwrapped::Transparent { inner, outside } => {
                let judged = self.judge(inner);
                let builtin = inner[0].text().and_then(table::find).is_some_and(|program| program.builtin);
                if outside && builtin {
                    return Err(Why::Program(inner[0].shown().to_owned()));
                }
                judged
            }
            wrapper::Unwrapped::Alone => {
                self.leaf(words);
                Ok(())
            }
            wrapper::Unwrapped::Opaque { inner, why } => {
                self.leaf(words);
                if !inner.is_empty() {
                    // Looked at for whoever has a rule about it.
                    self.judge(inner).ok();
                }
                Err(why)
            }
            wrapper::Unwrapped::Script { text, why } => {
                self.leaf(words);
                let own = words[0].shown().rsplit('/').next().unwrap_or_default();
                if table::reads_otherwise(own, &text) {
                    self.anything();
                }
                let known = self.inner_script(&text);
                if known.is_ok() && self.is_a_plain_shell(words) { Ok(()) } else { Err(why) }
            }
        }
    }

    /// `bash -c script`, from where the line began: it does what the script would do as a line of its own.
    fn is_a_plain_shell(&self, words: &[Word]) -> bool {
        let texts: Option<Vec<&str>> = words.iter().map(Word::text).collect();
        let here = self.folders == [""] && self.scripts == 0;
        here && matches!(texts.as_deref(), Some(["bash" | "/bin/bash" | "/usr/bin/bash", "-c", _]))
    }

    /// The commands of a script in a word, for rules about them, and whether it only reads.
    fn inner_script(&mut self, text: &str) -> Result<(), Why> {
        let inner = super::analysis::analyse_inside(text, self.scripts + 1, &mut self.left);
        self.leaves.extend(inner.leaves);
        self.unclear.extend(inner.unclear);
        self.writes.extend(inner.writes);
        self.reads.extend(inner.reads);
        self.hosts.extend(inner.hosts);
        inner.read_only
    }

    pub(super) fn leaf(&mut self, words: &[Word]) {
        self.leaves.push(Leaf { words: words.iter().map(|word| word.shown().to_owned()).collect() });
        if words.iter().any(|word| word.text().is_none()) {
            self.unclear.push(words.iter().map(Word::part).collect());
        }
    }

    pub(super) fn program_with(
        &mut self,
        program: &'static Program,
        name: &str,
        words: &[Word],
    ) -> Result<(), Why> {
        if let [only] = words
            && !program.builtin
            && matches!(only.text(), Some("--version" | "--help"))
        {
            return Ok(());
        }
        if program.freedom == Freedom::Pure {
            return Ok(());
        }
        if let Some(raw) = program.raw {
            let paths = raw(name, words)?;
            return paths.iter().try_for_each(|path| self.path(path));
        }
        if !program.subcommands.is_empty() {
            return self.subcommand(program, name, words);
        }
        let parsed = Parsed::of(program, name, words)?;
        self.parsed(program, name, &parsed)
    }

    fn subcommand(&mut self, program: &'static Program, name: &str, words: &[Word]) -> Result<(), Why> {
        let (parsed, at) = Parsed::until_operand(program, name, words)?;
        self.values_read(&parsed)?;
        if let Some(check) = program.check {
            check(name, &parsed)?;
        }
        let Some(word) = words.get(at) else {
            return if program.alone { Ok(()) } else { Err(Why::Program(name.to_owned())) };
        };
        let sub = word.text().ok_or_else(|| word.dynamic())?;
        let full = format!("{name} {sub}");
        let found = program.subcommands.iter().find(|program| program.names().any(|name| name == sub));
        let found = found.ok_or_else(|| Why::Program(full.clone()))?;
        let rest = &words[at + 1..];
        if found.subcommands.is_empty() {
            let parsed = Parsed::of(found, &full, rest)?;
            self.parsed(found, &full, &parsed)
        } else {
            self.subcommand(found, &full, rest)
        }
    }

    fn parsed(&mut self, program: &'static Program, name: &str, parsed: &Parsed<'_>) -> Result<(), Why> {
        self.values_read(parsed)?;
        if !program.needs.is_empty() && !program.needs.split(' ').any(|option| parsed.has(option)) {
            return Err(Why::operand(
                name,
                format!("without one of {} it does more than read", program.needs),
            ));
        }
        if let Some(check) = program.check {
            check(name, parsed)?;
        }
        self.operands(program, name, parsed)
    }

    /// Files that options name.
    fn values_read(&mut self, parsed: &Parsed<'_>) -> Result<(), Why> {
        for word in parsed.values_read() {
            self.path(word)?;
        }
        parsed.attached_read().try_for_each(|path| self.reading(path))
    }

    fn operands(&mut self, program: &Program, name: &str, parsed: &Parsed<'_>) -> Result<(), Why> {
        let operands = &parsed.operands[..];
        let many = |most: usize| {
            let globs = operands.iter().any(|word| matches!(word.value, Value::Glob(_)));
            operands.len() > most || (globs && most != usize::MAX)
        };
        let too_many = || Why::operand(name, "it takes fewer words than these to only read");
        match program.operands {
            Operands::None if operands.is_empty() => Ok(()),
            Operands::None => Err(too_many()),
            Operands::Words(most) => {
                if many(most) {
                    return Err(too_many());
                }
                operands.iter().try_for_each(|word| match &word.value {
                    Value::Dynamic { splits: true, .. } => Err(word.dynamic()),
                    _ => Ok(()),
                })
            }
            Operands::Paths(most) => {
                if many(most) {
                    return Err(too_many());
                }
                operands.iter().try_for_each(|word| self.path(word))
            }
            Operands::PatternThenPaths => {
                let given = ["-e", "-f", "--regexp", "--file", "--files", "--type-list"];
                let first = usize::from(!given.iter().any(|option| parsed.has(option)));
                if let Some(word) = operands.first().filter(|_| first == 1)
                    && matches!(word.value, Value::Dynamic { splits: true, .. })
                {
                    return Err(word.dynamic());
                }
                operands.iter().skip(first).try_for_each(|word| self.path(word))
            }
            Operands::Revisions => operands.iter().try_for_each(|word| self.revision(word)),
            Operands::Checked(paths) => {
                for path in paths(parsed) {
                    self.path(&path)?;
                }
                Ok(())
            }
            Operands::Folder => self.enter(operands),
        }
    }

    /// A file that is read.
    fn path(&mut self, word: &Word) -> Result<(), Why> {
        match &word.value {
            Value::Static(path) | Value::Glob(path) => self.reading(path),
            Value::Stream => Ok(()),
            Value::Dynamic { .. } => Err(word.dynamic()),
        }
    }

    /// A revision or a path, as git takes them: noted where it can only be a path, or leads outside.
    fn revision(&mut self, word: &Word) -> Result<(), Why> {
        let text = match &word.value {
            Value::Static(text) | Value::Glob(text) => text,
            Value::Stream => return Ok(()),
            Value::Dynamic { .. } => return Err(word.dynamic()),
        };
        let leads = text.starts_with(['/', '~', '.']) && !text.starts_with("..");
        let climbs = text.starts_with("../") || text.contains("/../");
        let plain = !text.contains([':', '^', '@']) && !text.contains("..");
        if leads || climbs || (plain && text.contains(['.', '/']) && !text.starts_with('v')) {
            self.reading(text)?;
        }
        Ok(())
    }

    /// `cd folder`.
    fn enter(&mut self, operands: &[&Word]) -> Result<(), Why> {
        let target = match operands {
            [] => "~",
            [word] => word.text().filter(|text| !text.starts_with('-')).ok_or_else(|| word.dynamic())?,
            _ => return Err(Why::operand("cd", "it takes one folder")),
        };
        if self.loops > 0 {
            return Err(Why::operand("cd", "in a loop the folder changes every time"));
        }
        let seen = self.seen_from_here(target).ok_or_else(|| Why::Dynamic(target.to_owned()))?;
        self.reads.extend(seen.iter().cloned());
        self.folders = seen;
        Ok(())
    }
}
