//! The table of models: its rows are data, and the first that fits a name is the one.

use serde::Deserialize;
use tollgate::wire::{Provider, Usage};

use super::Money;

/// Rows about models, in the order in which they are looked through.
#[derive(Debug, Clone, Default)]
pub struct Models {
    rows: Vec<ModelRow>,
}

/// What is known of the models whose names fit a pattern. Prices are dollars for a million tokens.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelRow {
    /// The name as people type it, where `*` stands for anything: `anthropic:claude-opus-4-5*`. A pattern without an
    /// address means models at the provider's own.
    pub model: String,
    /// How many tokens it takes, question and answer together.
    #[serde(default)]
    pub window: Option<u64>,
    /// How many of them it writes at most; asking for more is refused.
    #[serde(default)]
    pub max_output: Option<u32>,
    /// It thinks before it answers, and `OpenAI`'s Responses hand its thoughts out encrypted.
    #[serde(default)]
    pub thinks: bool,
    /// For tokens that are read.
    #[serde(default)]
    pub input: Option<f64>,
    /// For tokens that are written, thoughts among them.
    #[serde(default)]
    pub output: Option<f64>,
    /// For tokens read from the cache; as `input` where it is not told.
    #[serde(default)]
    pub cache_read: Option<f64>,
    /// For tokens written to the cache; as `input` where it is not told.
    #[serde(default)]
    pub cache_write: Option<f64>,
}

/// Why a table of models is none.
#[derive(Debug, thiserror::Error)]
pub enum BadModels {
    /// Not JSON, or not of the form.
    #[error("the table of models cannot be read: {0}")]
    Unreadable(#[from] serde_json::Error),
    /// A row that makes no sense.
    #[error("the row of `{model}` in the table of models {why}")]
    BadRow {
        /// Its pattern.
        model: String,
        /// What is wrong with it.
        why: &'static str,
    },
}

impl Models {
    /// The table that comes with the crate.
    pub fn builtin() -> Self {
        // A fault in it is caught by a test; a table that knows nothing is the safe side all the same.
        Self::read(include_str!("models.json")).unwrap_or_default()
    }

    /// A table in the form of `models.json`: `{"models": [{"model", "window", "input", "output", …}]}`.
    pub fn read(json: &str) -> Result<Self, BadModels> {
        #[derive(Deserialize)]
        struct Table {
            models: Vec<ModelRow>,
        }
        let table: Table = serde_json::from_str(json)?;
        Self::default().with(table.models)
    }

    /// The same, these rows first.
    pub fn with(mut self, rows: impl IntoIterator<Item = ModelRow>) -> Result<Self, BadModels> {
        let rows: Vec<_> = rows.into_iter().collect();
        for row in &rows {
            let bad = |why| BadModels::BadRow { model: row.model.clone(), why };
            if !row.model.contains(':') {
                return Err(bad("does not say whose model it is (as in `openai:NAME`)"));
            }
            if row.input.is_some() != row.output.is_some() {
                return Err(bad("has a price for only one of `input` and `output`"));
            }
            let prices = [row.input, row.output, row.cache_read, row.cache_write];
            if prices.into_iter().flatten().any(|price| !price.is_finite() || price < 0.0) {
                return Err(bad("has a price that is none"));
            }
        }
        self.rows.splice(0..0, rows);
        Ok(self)
    }

    /// What is known of a model, named as people type it.
    pub fn find(&self, name: &str) -> Option<&ModelRow> {
        self.rows.iter().find(|row| row.fits(name))
    }

    /// What a turn of a model cost; `None` where its price is not known.
    pub fn cost(&self, name: &str, provider: Provider, usage: &Usage) -> Option<Money> {
        self.find(name)?.cost(provider, usage)
    }
}

impl ModelRow {
    fn fits(&self, name: &str) -> bool {
        // The same name at somebody else's address is another model, at another price.
        let has_address = |text: &str| {
            let text = text.to_ascii_lowercase();
            text.contains("@http://") || text.contains("@https://")
        };
        if has_address(name) && !has_address(&self.model) && self.model != "*:*" {
            return false;
        }
        glob(&self.model, name)
    }

    /// What a turn cost; `None` where the price is not known.
    pub fn cost(&self, provider: Provider, usage: &Usage) -> Option<Money> {
        let (input, output) = (self.input?, self.output?);
        // Anthropic counts cached tokens beside the ones that were read, the others among them.
        let fresh = match provider {
            Provider::Anthropic => usage.input_tokens,
            Provider::OpenAiResponses | Provider::OpenAiChat => usage
                .input_tokens
                .saturating_sub(usage.cache_read_tokens)
                .saturating_sub(usage.cache_write_tokens),
        };
        let parts = [
            (fresh, input),
            (usage.output_tokens, output),
            (usage.cache_read_tokens, self.cache_read.unwrap_or(input)),
            (usage.cache_write_tokens, self.cache_write.unwrap_or(input)),
        ];
        Some(parts.into_iter().map(|(tokens, price)| of(tokens, price)).sum())
    }
}

/// So many tokens at so many dollars a million.
fn of(tokens: u64, dollars: f64) -> Money {
    // Dollars a million tokens are thousandths of a billionth a token: whole numbers keep sums exact.
    let price = Money::from_dollars(dollars).unwrap_or_default().nanos();
    let nanos = u128::from(tokens) * u128::from(price) / 1_000_000;
    Money::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
}

/// Whether a name fits a pattern in which `*` stands for anything.
fn glob(pattern: &str, name: &str) -> bool {
    let Some((head, rest)) = pattern.split_once('*') else { return pattern == name };
    let Some(mut name) = name.strip_prefix(head) else { return false };
    if rest.is_empty() {
        return true;
    }
    loop {
        if glob(rest, name) {
            return true;
        }
        let mut chars = name.chars();
        if chars.next().is_none() {
            return false;
        }
        name = chars.as_str();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usage(input: u64, output: u64, read: u64, write: u64) -> Usage {
        Usage {
            input_tokens: input,
            output_tokens: output,
            cache_read_tokens: read,
            cache_write_tokens: write,
            reasoning_tokens: 0,
        }
    }

    #[test]
    fn the_table_that_comes_along_is_whole() {
        let models = Models::read(include_str!("models.json")).unwrap();
        assert!(models.rows.len() > 20);
        assert_eq!(Models::builtin().rows, models.rows);
    }

    #[test]
    fn cached_tokens_have_their_own_price_and_are_counted_once() {
        let models = Models::builtin();
        let cost = |name: &str, provider, usage: Usage| models.cost(name, provider, &usage);
        let dollars = Money::from_dollars;
        // Beside the others: 1M fresh, 1M written, 1M from and 1M to the cache.
        let all = usage(1_000_000, 1_000_000, 1_000_000, 1_000_000);
        assert_eq!(
            cost("anthropic:claude-sonnet-4-5-20250929", Provider::Anthropic, all),
            dollars(3.0 + 15.0 + 0.3 + 3.75)
        );
        // Among them: of 1M read, 400k came from the cache.
        let some = usage(1_000_000, 0, 400_000, 0);
        assert_eq!(cost("openai:gpt-4o", Provider::OpenAiResponses, some), dollars(0.6 * 2.5 + 0.4 * 1.25));
        assert_eq!(cost("openai:gpt-4o", Provider::OpenAiResponses, Usage::default()), Some(Money::ZERO));
    }

    #[test]
    fn a_model_nobody_knows_and_one_at_another_address_have_no_price() {
        let models = Models::builtin();
        assert_eq!(models.cost("openai:moon-1", Provider::OpenAiResponses, &usage(1, 1, 0, 0)), None);
        assert!(models.find("chat:gpt-4o").is_some());
        assert_eq!(models.find("chat:gpt-4o@http://localhost:8000/v1"), None);
        assert_eq!(models.find("anthropic:claude-sonnet-4-5@HTTPS://gateway.example"), None);
    }

    #[test]
    fn rows_of_ones_own_come_first() {
        let row = ModelRow {
            model: "chat:*@http://localhost*".to_owned(),
            input: Some(1.0),
            output: Some(2.0),
            window: Some(8_192),
            ..ModelRow::default()
        };
        let models = Models::builtin().with([row]).unwrap();
        let known = models.find("chat:gpt-4o@http://localhost:8000/v1").unwrap();
        assert_eq!(known.window, Some(8_192));
        assert_eq!(known.cost(Provider::OpenAiChat, &usage(3, 4, 0, 0)), Some(Money::from_nanos(11_000)));
    }

    #[test]
    fn a_row_that_makes_no_sense_is_refused() {
        let bad = [
            r#"{"models":[{"model":"gpt"}]}"#,
            r#"{"models":[{"model":"openai:x","input":1}]}"#,
            r#"{"models":[{"model":"openai:x","input":-1,"output":1}]}"#,
            r#"{"models":[{"model":"openai:x","inptu":1}]}"#,
            "[]",
        ];
        for table in bad {
            assert!(Models::read(table).is_err(), "{table}");
        }
    }

    #[test]
    fn money_shows_small_amounts_and_never_rounds_them_to_nothing() {
        let shown = |dollars: f64| Money::from_dollars(dollars).unwrap().to_string();
        assert_eq!(shown(0.0), "$0.00");
        assert_eq!(shown(0.000_001), "$0.0001");
        assert_eq!(shown(0.012), "$0.012");
        assert_eq!(shown(1.5), "$1.50");
        assert_eq!(shown(0.999_999), "$1.00");
        assert_eq!(Money::from_dollars(-1.0), None);
        assert_eq!(Money::from_dollars(f64::NAN), None);
    }
}
