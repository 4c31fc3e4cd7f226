//! What a run may take, what it has taken, and the warning before it ends.

use std::fmt;

use serde::{Deserialize, Serialize};
use tollgate::wire::{Provider, Usage};

/// Limits of a run; what is not set has none.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Limits {
    /// Turns of the model for one message of the person.
    pub turns: Option<u32>,
    /// Executed calls, those of sub-agents included.
    pub calls: Option<u64>,
    /// Time at work, waiting for people left out.
    pub ms: Option<u64>,
    /// Tokens read and written.
    pub tokens: Option<u64>,
    /// Money in millionths of a dollar.
    pub microdollars: Option<u64>,
    /// How often a failed request is made again by the loop, beyond what the model's own client does.
    pub retries: u32,
    /// A call that needs a yes nobody is there to give stops the run; otherwise the model is told and goes on.
    pub wait_for_person: bool,
}

/// What a run has taken.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spent {
    /// Turns of the model.
    pub turns: u32,
    /// Executed calls.
    pub calls: u64,
    /// Time at work.
    pub ms: u64,
    /// Tokens.
    pub tokens: u64,
    /// Millionths of a dollar.
    pub microdollars: u64,
    /// Tokens by kind.
    pub usage: Usage,
}

/// One of the limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    /// Calls.
    Calls,
    /// Time.
    Time,
    /// Tokens.
    Tokens,
    /// Money.
    Money,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            turns: Some(200),
            calls: None,
            ms: None,
            tokens: None,
            microdollars: None,
            retries: 2,
            wait_for_person: false,
        }
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Calls => "calls",
            Self::Time => "time",
            Self::Tokens => "tokens",
            Self::Money => "money",
        })
    }
}

/// Which warnings were given.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Warnings {
    given: Vec<Limit>,
    turns: bool,
}

impl Limits {
    /// No limit at all.
    pub fn unlimited() -> Self {
        Self { turns: None, ..Self::default() }
    }

    fn all(&self, spent: &Spent) -> [(Limit, Option<u64>, u64); 4] {
        [
            (Limit::Calls, self.calls, spent.calls),
            (Limit::Time, self.ms, spent.ms),
            (Limit::Tokens, self.tokens, spent.tokens),
            (Limit::Money, self.microdollars, spent.microdollars),
        ]
    }

    /// The first limit that is reached.
    pub fn reached(&self, spent: &Spent) -> Option<Limit> {
        self.all(spent)
            .into_iter()
            .find_map(|(limit, most, has)| most.filter(|most| has >= *most).map(|_| limit))
    }

    /// What is left under these limits, as limits of whoever is sent out.
    #[must_use]
    pub fn left(&self, spent: &Spent) -> Self {
        let left = |most: Option<u64>, has: u64| most.map(|most| most.saturating_sub(has));
        Self {
            calls: left(self.calls, spent.calls),
            ms: left(self.ms, spent.ms),
            tokens: left(self.tokens, spent.tokens),
            microdollars: left(self.microdollars, spent.microdollars),
            ..self.clone()
        }
    }

    /// The stricter of two, limit by limit.
    #[must_use]
    pub fn under(&self, ceiling: &Self) -> Self {
        fn least<T: Ord + Copy>(a: Option<T>, b: Option<T>) -> Option<T> {
            a.into_iter().chain(b).min()
        }
        Self {
            turns: least(self.turns, ceiling.turns),
            calls: least(self.calls, ceiling.calls),
            ms: least(self.ms, ceiling.ms),
            tokens: least(self.tokens, ceiling.tokens),
            microdollars: least(self.microdollars, ceiling.microdollars),
            retries: self.retries,
            wait_for_person: self.wait_for_person,
        }
    }
}

impl Warnings {
    /// What the model is told now, once for each limit: when a fifth is left, and two turns before the last.
    pub(super) fn due(&mut self, limits: &Limits, spent: &Spent, turns: u32) -> Option<String> {
        let mut words = Vec::new();
        for (limit, most, has) in limits.all(spent) {
            let Some(most) = most else { continue };
            let near = u128::from(has) * 5 >= u128::from(most) * 4 && has < most;
            if near && !self.given.contains(&limit) {
                self.given.push(limit);
                words.push(left_in_words(limit, most - has, most));
            }
        }
        if let Some(most) = limits.turns.filter(|most| *most > 3 && turns + 2 >= *most && turns < *most)
            && !self.turns
        {
            self.turns = true;
            words.push(format!("{} of {most} turns are left.", most - turns));
        }
        if turns == 0 {
            self.turns = false;
        }
        if words.is_empty() {
            return None;
        }
        words.push("Finish what matters most, then say what is done and what is not.".to_owned());
        Some(words.join(" "))
    }
}

#[expect(clippy::cast_precision_loss, reason = "shown with two digits")]
fn left_in_words(limit: Limit, left: u64, most: u64) -> String {
    match limit {
        Limit::Calls => format!("{left} of {most} calls are left."),
        Limit::Time => format!("{} of {} seconds are left.", left / 1000, most / 1000),
        Limit::Tokens => format!("{left} of {most} tokens are left."),
        Limit::Money => format!("${:.2} of ${:.2} are left.", left as f64 / 1e6, most as f64 / 1e6),
    }
}

impl Spent {
    /// Adds the tokens of a turn.
    pub(super) fn add(&mut self, provider: Provider, usage: &Usage, microdollars: u64) {
        self.tokens += total(provider, usage);
        self.microdollars += microdollars;
        let sum = &mut self.usage;
        sum.input_tokens += usage.input_tokens;
        sum.output_tokens += usage.output_tokens;
        sum.cache_read_tokens += usage.cache_read_tokens;
        sum.cache_write_tokens += usage.cache_write_tokens;
        sum.reasoning_tokens += usage.reasoning_tokens;
    }
}

/// Tokens of a turn, read and written: what the conversation took of the window.
pub(crate) fn total(provider: Provider, usage: &Usage) -> u64 {
    let cached = match provider {
        // Counted apart there; the others count them as read.
        Provider::Anthropic => usage.cache_read_tokens + usage.cache_write_tokens,
        Provider::OpenAiResponses | Provider::OpenAiChat => 0,
    };
    usage.input_tokens + cached + usage.output_tokens
}
