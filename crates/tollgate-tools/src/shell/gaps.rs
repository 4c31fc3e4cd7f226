//! What stands between the parts that the grammar found: blanks, or something that it passed over.

use tree_sitter::Node;

use super::{Why, walk::Walk, word::children};

impl Walk<'_> {
    /// Between the parts of a node there is nothing but blanks.
    pub(super) fn gaps(&mut self, node: Node<'_>) {
        // A line that ends inside a simple command ends the command, whatever the grammar made of it.
        let one_line = matches!(node.kind(), "command" | "file_redirect" | "herestring_redirect");
        let (mut end, mut word, mut blank, mut joined) = (node.start_byte(), false, true, false);
        let mut look = |from: usize, to: usize, words: bool| {
            let gap = self.between(from, to).replace("\\\n", "");
            // A continued line with no blank at either end makes one word of two, whatever the grammar made of it.
            let joins = words && gap.is_empty() && from != to;
            joined |= joins;
            blank &= is_blank(&gap) && !joins && !(one_line && gap.contains('\n'));
        };
        for child in children(node) {
            look(end, child.start_byte(), word && child.is_named());
            (end, word) = (child.end_byte(), child.is_named());
        }
        look(end, node.end_byte(), word);
        if joined {
            // Which words it has is not known, so every rule about commands may mean it.
            self.unclear.push(Vec::new());
        }
        if !blank {
            self.note(Err(Why::Syntax("a part of it is not grammar".to_owned())));
        }
    }
}

fn is_blank(text: &str) -> bool {
    text.bytes().all(|byte| matches!(byte, b' ' | b'\t' | b'\n'))
}
