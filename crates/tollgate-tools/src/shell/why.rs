//! Why a command line is not known to only read, in words.

/// The first reason found. Its text is for people and for the model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Why {
    /// Nothing to run.
    #[error("the command is empty")]
    Empty,
    /// Longer than is read.
    #[error("the command has {0} characters, more than the {MOST} that are looked at", MOST = super::text::LONGEST)]
    TooLong(usize),
    /// A character that is not what it looks like, or is not seen at all.
    #[error("the command holds {0}, which shows something other than what runs")]
    Character(String),
    /// A word of two scripts whose letters look alike.
    #[error("`{0}` mixes letters that look alike")]
    Lookalike(String),
    /// bash would not read it, or we do not.
    #[error("the command cannot be read as bash: {0}")]
    Syntax(String),
    /// Grammar that is not on the list.
    #[error("{0} is not looked into")]
    Grammar(String),
    /// A process that outlives the command.
    #[error("`&` leaves a process behind")]
    Background,
    /// A word that is only known when it runs.
    #[error("`{0}` is only known when it runs")]
    Dynamic(String),
    /// A program that is not in the table.
    #[error("`{0}` is not known to only read")]
    Program(String),
    /// An option that is not in the table.
    #[error("`{program} {option}` is not known to only read")]
    Option {
        /// The program.
        program: String,
        /// The option as written.
        option: String,
    },
    /// Words that are not options.
    #[error("`{program}`: {why}")]
    Operand {
        /// The program.
        program: String,
        /// What is wrong with them.
        why: String,
    },
    /// A variable that changes what programs do.
    #[error("the variable `{0}` can change what runs")]
    Variable(String),
    /// Output to a file, or input that is more than reading a file.
    #[error("`{0}` does more than read a file")]
    Redirect(String),
    /// A script in another language.
    #[error("the {language} script is not known to only read: {why}")]
    Script {
        /// Which language.
        language: &'static str,
        /// What in it.
        why: String,
    },
    /// A wrapper that runs something else in a way that is not looked into.
    #[error("`{0}` runs another program")]
    Runs(String),
}

impl Why {
    pub(super) fn operand(program: &str, why: impl Into<String>) -> Self {
        Self::Operand { program: program.to_owned(), why: why.into() }
    }

    pub(super) fn option(program: &str, option: &str) -> Self {
        Self::Option { program: program.to_owned(), option: option.to_owned() }
    }

    pub(super) fn script(language: &'static str, why: impl Into<String>) -> Self {
        Self::Script { language, why: why.into() }
    }
}
