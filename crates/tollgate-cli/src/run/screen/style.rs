//! How words look: bold, dim, a colour; and nothing at all where nobody wants that.

use std::fmt::Write as _;

/// How one character looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is on or off, whatever the others are")]
pub(crate) struct Style {
    pub(crate) bold: bool,
    pub(crate) dim: bool,
    pub(crate) italic: bool,
    pub(crate) struck: bool,
    pub(crate) colour: Option<Colour>,
}

/// The few colours that are used, each with one meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Colour {
    /// It failed, or was taken out.
    Red,
    /// It went well, or was put in.
    Green,
    /// It was refused, or needs a look.
    Yellow,
    /// Code and names.
    Cyan,
}

impl Style {
    pub(crate) const PLAIN: Self =
        Self { bold: false, dim: false, italic: false, struck: false, colour: None };
    pub(crate) const BOLD: Self = Self { bold: true, ..Self::PLAIN };
    pub(crate) const DIM: Self = Self { dim: true, ..Self::PLAIN };

    pub(crate) const fn of(colour: Colour) -> Self {
        Self { colour: Some(colour), ..Self::PLAIN }
    }

    /// The sequence that makes a terminal write like this from here on.
    pub(crate) fn begin(self, out: &mut String) {
        out.push_str("\x1b[0");
        let marks = [(self.bold, 1), (self.dim, 2), (self.italic, 3), (self.struck, 9)];
        let colour = self.colour.map(|colour| match colour {
            Colour::Red => 31,
            Colour::Green => 32,
            Colour::Yellow => 33,
            Colour::Cyan => 36,
        });
        for code in marks.into_iter().filter(|(on, _)| *on).map(|(_, code)| code).chain(colour) {
            let _ = write!(out, ";{code}");
        }
        out.push('m');
    }
}

/// Text in one style; as it is where there are none.
pub(crate) fn painted(style: Style, text: &str, colours: bool) -> String {
    if !colours || style == Style::PLAIN || text.is_empty() {
        return text.to_owned();
    }
    let mut out = String::new();
    style.begin(&mut out);
    out.push_str(text);
    out.push_str("\x1b[0m");
    out
}
