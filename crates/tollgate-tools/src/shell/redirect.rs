//! Redirections: reading a file, copying a descriptor and `/dev/null` are known, nothing else is.

use tree_sitter::Node;

use super::{
    Why, expand,
    perhaps::substitutions,
    walk::Walk,
    word::{Value, children},
};

impl Walk<'_> {
    /// A statement with redirections around it.
    pub(super) fn redirected(&mut self, node: Node<'_>) {
        self.gaps(node);
        let behind: Vec<Node<'_>> = children(node).flat_map(words_behind).collect();
        for child in children(node) {
            if child.kind() == "command" {
                self.command_with(child, &behind);
            } else if child.is_named() {
                if !behind.is_empty() && !child.kind().ends_with("redirect") {
                    // Whose words they are is not clear.
                    self.anything();
                }
                self.statement(child);
            } else {
                self.note(Err(Why::Syntax(format!("`{}`", child.kind()))));
            }
        }
    }

    /// One redirection.
    pub(super) fn redirect(&mut self, node: Node<'_>) {
        let found = match node.kind() {
            "file_redirect" => self.file(node),
            "herestring_redirect" => self.herestring(node),
            _ => self.heredoc(node),
        };
        if let Err(why) = found {
            self.note(Err(why));
            if node.kind() != "heredoc_redirect" {
                self.look_inside(node);
            }
        }
    }

    fn file(&mut self, node: Node<'_>) -> Result<(), Why> {
        self.gaps(node);
        let whole = self.slice(node);
        let odd = || Why::Redirect(whole.to_owned());
        let (mut operator, mut targets) = ("", Vec::new());
        for child in children(node) {
            match child.kind() {
                "file_descriptor" => {
                    let number = self.slice(child);
                    if !number.bytes().all(|byte| byte.is_ascii_digit()) {
                        return Err(odd());
                    }
                }
                _ if !child.is_named() && operator.is_empty() => operator = child.kind(),
                _ if child.is_named() => targets.push(child),
                _ => return Err(odd()),
            }
        }
        // `ls {fd}>x` opens a file under a number of bash's own choice.
        let before = self.between(0, node.start_byte());
        let named_descriptor = before.ends_with('}');
        if named_descriptor {
            // Its name stands among the words, and is none of them.
            self.anything();
        }
        if matches!(operator, ">&-" | "<&-") && targets.is_empty() {
            return Ok(());
        }
        let Some(target) = targets.first().copied() else { return Err(odd()) };
        if targets.len() > 1 {
            self.note(Err(odd()));
        }
        let word = self.word(target)?;
        let Some(text) = word.text().map(str::to_owned) else {
            self.writes_somewhere |= operator != "<";
            return Err(word.dynamic());
        };
        let copies = matches!(operator, ">&" | "<&");
        if copies && !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
            return if named_descriptor { Err(odd()) } else { Ok(()) };
        }
        match operator {
            "<" if named_descriptor => Err(odd()),
            // bash connects to a host of this name.
            "<" if text.starts_with("/dev/tcp/") || text.starts_with("/dev/udp/") => {
                self.hosts.extend(text.split('/').nth(3).map(str::to_owned));
                Err(odd())
            }
            "<" => {
                self.reading(&text)?;
                Ok(())
            }
            _ => {
                let quiet =
                    matches!(operator, ">" | ">>" | "&>" | "&>>" | ">|" | ">&") && text == "/dev/null";
                if quiet && !named_descriptor {
                    return Ok(());
                }
                self.writing(&text);
                self.redirected.push(text);
                Err(odd())
            }
        }
    }

    /// `<<< word`: text for the standard input.
    fn herestring(&mut self, node: Node<'_>) -> Result<(), Why> {
        self.gaps(node);
        let mut words =
            children(node).filter(Node::is_named).filter(|child| child.kind() != "file_descriptor");
        let word = words.next().ok_or_else(|| Why::Syntax("`<<<` without a word".to_owned()))?;
        if words.next().is_some() {
            return Err(Why::Grammar(self.slice(node).to_owned()));
        }
        let word = self.word(word)?;
        if word.value == Value::Stream { Err(word.dynamic()) } else { Ok(()) }
    }

    /// `<<WORD`: the lines up to `WORD`, found a second time here so that nothing hides behind a misread end.
    fn heredoc(&mut self, node: Node<'_>) -> Result<(), Why> {
        let odd = |what: &str| Why::Grammar(format!("a here-document with {what}"));
        let (mut start, mut body, mut end, mut dash) = (None, None, None, false);
        for child in children(node) {
            match child.kind() {
                "<<" => {}
                "<<-" => dash = true,
                "heredoc_start" => start = Some(child),
                "heredoc_body" => body = Some(child),
                "heredoc_end" => end = Some(child),
                "pipeline" | "list" | "command" | "file_redirect" | "|" | "&&" | "||" => {
                    if !child.is_named() {
                        continue;
                    }
                    if !words_behind(child).is_empty() {
                        self.anything();
                    }
                    self.statement(child);
                }
                other => return Err(self.misread(odd(&format!("`{other}` in it")))),
            }
        }
        let (Some(start), Some(end)) = (start, end) else { return Err(self.misread(odd("no end"))) };
        let (word, source) = (self.slice(start), self.source());
        let bare = word.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\''));
        let bare = bare.or_else(|| word.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')));
        let quoted = bare.is_some();
        let mark = bare.unwrap_or(word);
        if mark.is_empty() || !mark.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
            return Err(self.misread(odd("an odd end mark")));
        }
        let first = source[start.end_byte()..].find('\n').map(|at| start.end_byte() + at + 1);
        let Some(first) = first else { return Err(self.misread(odd("no lines"))) };
        let line = source[..start.start_byte()].rfind('\n').map_or(0, |at| at + 1);
        if source[line..first].matches("<<").count() > 1 {
            return Err(self.misread(odd("another one on the same line")));
        }
        let mut at = first;
        for line in source[first..].split_inclusive('\n') {
            let bare = line.strip_suffix('\n').unwrap_or(line);
            let bare = if dash { bare.trim_start_matches('\t') } else { bare };
            if bare == mark {
                let skipped = line.len() - line.trim_start_matches('\t').len();
                let agrees = end.start_byte() == at || (dash && end.start_byte() == at + skipped);
                if !agrees
                    || body.is_some_and(|body| body.start_byte() < first || body.end_byte() > at + skipped)
                {
                    return Err(self.misread(odd("an end that is not clear")));
                }
                let lines = &source[first..at];
                if !quoted && !expand::only_values(lines) {
                    let before = self.leaves.len();
                    body.into_iter().for_each(|body| self.commands_inside(body));
                    if substitutions(&unescaped(lines)) > self.leaves.len() - before {
                        self.anything();
                    }
                    return Err(odd("expansions"));
                }
                // Each is found where it is; but that several only read is not said of any.
                return if source.matches("<<").count() > 1 { Err(odd("another one")) } else { Ok(()) };
            }
            at += line.len();
        }
        Err(self.misread(odd("no end")))
    }

    /// Where its end may be another one, its lines may be commands.
    fn misread(&mut self, why: Why) -> Why {
        self.anything();
        why
    }
}

/// Words that stand behind a redirection and belong to the command before it: the grammar takes them for more targets.
pub(super) fn words_behind(redirect: Node<'_>) -> Vec<Node<'_>> {
    if redirect.kind() != "file_redirect" {
        return Vec::new();
    }
    let named = children(redirect).filter(|child| child.is_named() && child.kind() != "file_descriptor");
    let closes = children(redirect).any(|child| matches!(child.kind(), ">&-" | "<&-"));
    named.skip(usize::from(!closes)).collect()
}

/// Without what a backslash makes a character like any other.
fn unescaped(lines: &str) -> String {
    let mut rest = lines.chars();
    let mut plain = String::new();
    while let Some(c) = rest.next() {
        if c == '\\' {
            rest.next();
        } else {
            plain.push(c);
        }
    }
    plain
}
