//! Scripts for sed: addresses, and commands that print or change the text in between. None that write or run.

use crate::shell::{Why, options::Parsed, word::Word};

/// The scripts of `-e`, or the first operand.
pub(in crate::shell) fn check(_: &str, parsed: &Parsed<'_>) -> Result<(), Why> {
    let given: Vec<_> = ["-e", "--expression"].iter().flat_map(|option| parsed.values(option)).collect();
    let first = parsed.operands.first().map(|word| word.text());
    let scripts = if given.is_empty() { first.into_iter().collect() } else { given };
    if scripts.is_empty() {
        return Err(Why::script("sed", "there is none"));
    }
    let mut whole = String::new();
    for script in scripts {
        whole.push_str(script.ok_or_else(|| Why::script("sed", "it is only known when it runs"))?);
        whole.push('\n');
    }
    judge(&whole).map_err(|why| Why::script("sed", why))
}

/// The files after the script.
pub(in crate::shell) fn paths(parsed: &Parsed<'_>) -> Vec<Word> {
    let given = parsed.has("-e") || parsed.has("--expression");
    parsed.operands.iter().skip(usize::from(!given)).map(|word| (*word).clone()).collect()
}

struct Reader<'s> {
    rest: &'s str,
}

fn judge(script: &str) -> Result<(), String> {
    let mut reader = Reader { rest: script };
    let mut depth = 0_usize;
    loop {
        reader.rest = reader.rest.trim_start_matches([' ', '\t', '\n', ';']);
        if reader.rest.is_empty() {
            return if depth == 0 { Ok(()) } else { Err("a brace is open".to_owned()) };
        }
        if let Some(comment) = reader.rest.strip_prefix('#') {
            // `#n` on the first line is an option, and a harmless one.
            reader.rest = comment.split_once('\n').map_or("", |(_, after)| after);
            continue;
        }
        reader.addresses()?;
        reader.command(&mut depth)?;
    }
}

impl Reader<'_> {
    fn addresses(&mut self) -> Result<(), String> {
        if self.address()? {
            self.blanks();
            if let Some(after) = self.rest.strip_prefix(',') {
                self.rest = after.trim_start_matches([' ', '\t']);
                self.rest = self.rest.trim_start_matches(['+', '~']);
                if !self.address()? {
                    return Err("an address is missing after `,`".to_owned());
                }
            }
        }
        self.blanks();
        while let Some(after) = self.rest.strip_prefix('!') {
            self.rest = after;
            self.blanks();
        }
        Ok(())
    }

    fn address(&mut self) -> Result<bool, String> {
        let Some(first) = self.rest.chars().next() else { return Ok(false) };
        match first {
            '0'..='9' => {
                self.rest = self.rest.trim_start_matches(|c: char| c.is_ascii_digit());
                if let Some(step) = self.rest.strip_prefix('~') {
                    self.rest = step.trim_start_matches(|c: char| c.is_ascii_digit());
                }
            }
            '$' => self.rest = &self.rest[1..],
            '/' => {
                self.rest = &self.rest[1..];
                self.pattern('/')?;
                self.rest = self.rest.trim_start_matches(['I', 'M']);
            }
            '\\' => {
                self.rest = &self.rest[1..];
                let delimiter = self.delimiter()?;
                self.pattern(delimiter)?;
                self.rest = self.rest.trim_start_matches(['I', 'M']);
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn command(&mut self, depth: &mut usize) -> Result<(), String> {
        let command = self.rest.chars().next().ok_or("a command is missing")?;
        self.rest = &self.rest[command.len_utf8()..];
        match command {
            '{' => {
                *depth += 1;
                return Ok(());
            }
            '}' => *depth = depth.checked_sub(1).ok_or("a brace too many")?,
            'p' | 'P' | 'd' | 'D' | '=' | 'n' | 'N' | 'g' | 'G' | 'h' | 'H' | 'x' | 'z' | 'F' => {}
            'q' | 'Q' | 'l' | 'L' => {
                self.blanks();
                self.rest = self.rest.trim_start_matches(|c: char| c.is_ascii_digit());
            }
            's' => {
                let delimiter = self.delimiter()?;
                self.pattern(delimiter)?;
                self.replacement(delimiter)?;
                // Absent: `e`, which runs the text, and `w`, which writes it.
                self.rest =
                    self.rest.trim_start_matches(|c: char| matches!(c, 'g' | 'p' | 'i' | 'I' | '0'..='9'));
            }
            'y' => {
                let delimiter = self.delimiter()?;
                self.replacement(delimiter)?;
                self.replacement(delimiter)?;
            }
            ':' | 'b' | 't' | 'T' => {
                self.blanks();
                self.rest = self.rest.trim_start_matches(|c: char| c.is_ascii_alphanumeric() || c == '_');
            }
            'a' | 'i' | 'c' => return self.text(),
            other => return Err(format!("the command `{other}`")),
        }
        self.end()
    }

    /// Text to the end of the line, whatever it holds. A backslash could make it longer than the line.
    fn text(&mut self) -> Result<(), String> {
        let (line, after) = self.rest.split_at(self.rest.find('\n').unwrap_or(self.rest.len()));
        let text = line.trim_start_matches([' ', '\t']);
        let text = text.strip_prefix('\\').unwrap_or(text);
        if text.trim().is_empty() || text.contains('\\') {
            return Err("text of more than one line".to_owned());
        }
        self.rest = after;
        Ok(())
    }

    /// After a command: its end, and nothing that could belong to it.
    fn end(&mut self) -> Result<(), String> {
        self.blanks();
        match self.rest.chars().next() {
            None | Some(';' | '\n' | '}' | '#') => Ok(()),
            Some(other) => Err(format!("`{other}` after a command")),
        }
    }

    fn delimiter(&mut self) -> Result<char, String> {
        let delimiter = self.rest.chars().next().ok_or("a delimiter is missing")?;
        if delimiter.is_ascii_alphanumeric()
            || matches!(delimiter, '\\' | '\n' | ' ' | '\t' | ';' | '[' | ']' | '{' | '}')
        {
            return Err(format!("the delimiter `{delimiter}`"));
        }
        self.rest = &self.rest[delimiter.len_utf8()..];
        Ok(delimiter)
    }

    /// A pattern up to the next delimiter. What stands in brackets is read differently by different seds where a
    /// delimiter, a bracket or a backslash is among it, and so not at all.
    fn pattern(&mut self, delimiter: char) -> Result<(), String> {
        let mut rest = self.rest.chars();
        while let Some(c) = rest.next() {
            match c {
                '\\' if rest.next().is_none_or(|next| next == '\n') => break,
                '\\' => {}
                '\n' => break,
                '[' => Self::bracket(&mut rest, delimiter)?,
                c if c == delimiter => {
                    self.rest = rest.as_str();
                    return Ok(());
                }
                _ => {}
            }
        }
        Err("a pattern does not end".to_owned())
    }

    fn bracket(rest: &mut std::str::Chars<'_>, delimiter: char) -> Result<(), String> {
        let unclear = || "a bracket is not clear".to_owned();
        if rest.as_str().starts_with('^') {
            rest.next();
        }
        let mut first = true;
        while let Some(c) = rest.next() {
            match c {
                ']' if first => return Err(unclear()),
                ']' => return Ok(()),
                '[' => {
                    let class = rest.as_str().strip_prefix(':').and_then(|class| class.split_once(":]"));
                    let (name, after) = class.ok_or_else(unclear)?;
                    if !name.bytes().all(|byte| byte.is_ascii_lowercase()) {
                        return Err(unclear());
                    }
                    *rest = after.chars();
                }
                // Whether it stands for itself or for a tab, a letter after it ends nothing.
                '\\' if rest.clone().next().is_some_and(|next| next.is_ascii_alphanumeric()) => {}
                '\\' | '\n' => return Err(unclear()),
                c if c == delimiter => return Err(unclear()),
                _ => {}
            }
            first = false;
        }
        Err(unclear())
    }

    /// Text up to the next delimiter that no backslash stands before.
    fn replacement(&mut self, delimiter: char) -> Result<(), String> {
        let mut rest = self.rest.chars();
        while let Some(c) = rest.next() {
            match c {
                '\\' if rest.next().is_none_or(|next| next == '\n') => break,
                '\\' => {}
                '\n' => break,
                c if c == delimiter => {
                    self.rest = rest.as_str();
                    return Ok(());
                }
                _ => {}
            }
        }
        Err("a replacement does not end".to_owned())
    }

    fn blanks(&mut self) {
        self.rest = self.rest.trim_start_matches([' ', '\t']);
    }
}
