//! `[run]` and `[roles.NAME]` of `tollgate.toml`: which model, as what, with which tools, for how much.
//!
//! A folder is not its user. What the file of a project nobody trusts says of limits counts, since limits only tighten;
//! everything else in it would choose who reads the conversation, with which key and under whose instructions, so it
//! does nothing, and that is said.

use std::{collections::BTreeMap, path::Path};

use tollgate::policy::{
    Layer,
    config::{ConfigFile, Loaded, LoadedFile, Trust},
};

use super::args::{self, microdollars};
use crate::exit::Fault;

mod table;

use table::Table;

/// The names of the sections that are read here.
pub(crate) const SECTIONS: [&str; 2] = ["run", "roles"];

/// What the files say of runs.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Settings {
    pub(crate) model: Option<String>,
    pub(crate) role: Option<String>,
    pub(crate) instructions: Option<String>,
    pub(crate) plan: bool,
    pub(crate) limits: Budget,
    pub(crate) anthropic_url: Option<String>,
    pub(crate) anthropic_version: Option<String>,
    pub(crate) openai_url: Option<String>,
    pub(crate) prices: BTreeMap<String, Price>,
    pub(crate) roles: BTreeMap<String, Role>,
    /// What is written in a project's file and does nothing until it is trusted.
    pub(crate) inert: Vec<String>,
}

/// A `[roles.NAME]`.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Role {
    pub(crate) description: Option<String>,
    pub(crate) model: Option<String>,
    pub(crate) instructions: Option<String>,
    /// Patterns; `None` for every tool.
    pub(crate) tools: Option<Vec<String>>,
    pub(crate) route: Option<String>,
    pub(crate) limits: Budget,
}

/// Limits; what is not set has none.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Budget {
    pub(crate) turns: Option<u32>,
    pub(crate) calls: Option<u64>,
    pub(crate) seconds: Option<u64>,
    pub(crate) tokens: Option<u64>,
    /// Millionths of a dollar.
    pub(crate) microdollars: Option<u64>,
}

/// What a model costs, in dollars for a million tokens.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Price {
    pub(crate) input: f64,
    pub(crate) output: f64,
    pub(crate) cache_read: Option<f64>,
    pub(crate) cache_write: Option<f64>,
}

const LIMITS: [&str; 5] = ["max_turns", "max_calls", "max_seconds", "max_tokens", "max_cost"];

impl Settings {
    /// Reads every file, from the one that binds most, or says which is wrong and where.
    pub(crate) fn load(loaded: &Loaded) -> Result<Self, Fault> {
        let mut settings = Self::default();
        for file in &loaded.files {
            let read = Self::of_file(&file.path, &file.file)?;
            if file.trust == Trust::Trusted {
                settings.take(read, file.layer);
            } else {
                settings.tighten(&read, file);
            }
        }
        Ok(settings)
    }

    /// What one file says, trusted or not.
    pub(crate) fn of_file(path: &Path, file: &ConfigFile) -> Result<Self, Fault> {
        let mut settings = match Table::section(path, file, "run")? {
            Some(table) => run(table)?,
            None => Self::default(),
        };
        if let Some(table) = Table::section(path, file, "roles")? {
            for (name, table) in table.tables("roles")? {
                settings.roles.insert(name.to_owned(), role(&format!("roles.{name}"), table)?);
            }
        }
        Ok(settings)
    }

    /// Takes over what a file says that counts. A preference of a nearer file wins; an address, a version and a
    /// price stay as the layer above says.
    fn take(&mut self, file: Self, layer: Layer) {
        let nearer = |new: Option<String>, old: &mut Option<String>| {
            if new.is_some() {
                *old = new;
            }
        };
        nearer(file.model, &mut self.model);
        nearer(file.role, &mut self.role);
        nearer(file.instructions, &mut self.instructions);
        self.plan |= file.plan;
        self.limits = self.limits.and(file.limits);
        self.anthropic_url = self.anthropic_url.take().or(file.anthropic_url);
        self.anthropic_version = self.anthropic_version.take().or(file.anthropic_version);
        self.openai_url = self.openai_url.take().or(file.openai_url);
        for (name, price) in file.prices {
            self.prices.entry(name).or_insert(price);
        }
        for (name, mut role) in file.roles {
            if let Some(above) = self.roles.get(&name) {
                role.limits = role.limits.and(above.limits);
                if layer == Layer::Project && above.tools.is_some() {
                    // A project says what a role does in it, not that it may do more.
                    role.tools.clone_from(&above.tools);
                }
            }
            self.roles.insert(name, role);
        }
    }

    /// What it does once it is trusted, a line each.
    pub(crate) fn told(&self) -> Vec<String> {
        let texts = [("model", &self.model), ("role", &self.role), ("instructions", &self.instructions)];
        let mut lines: Vec<String> = texts
            .into_iter()
            .filter_map(|(name, text)| text.as_ref().map(|text| format!("{name} {text}")))
            .collect();
        for (provider, url) in [("Anthropic", &self.anthropic_url), ("OpenAI", &self.openai_url)] {
            lines.extend(
                url.as_ref().map(|url| format!("your key for {provider} and every prompt are sent to {url}")),
            );
        }
        lines.extend(self.anthropic_version.as_ref().map(|version| format!("anthropic version {version}")));
        lines.extend(self.prices.keys().map(|model| format!("what {model} costs")));
        lines.extend(self.roles.iter().map(|(name, role)| {
            let tools = role.tools.as_ref().map_or("every tool".to_owned(), |tools| tools.join(", "));
            let model = role.model.as_ref().map(|model| format!(" on {model}")).unwrap_or_default();
            format!("the role {name}{model} with {tools}")
        }));
        lines
    }

    /// Takes over what can only tighten, and names the rest.
    fn tighten(&mut self, file: &Self, from: &LoadedFile) {
        let Self { plan, limits, roles, prices, .. } = file;
        self.plan |= *plan;
        self.limits = self.limits.and(*limits);
        let mut inert: Vec<String> = [
            ("model", file.model.is_some()),
            ("role", file.role.is_some()),
            ("instructions", file.instructions.is_some()),
            ("anthropic", file.anthropic_url.is_some() || file.anthropic_version.is_some()),
            ("openai", file.openai_url.is_some()),
            ("prices", !prices.is_empty()),
        ]
        .into_iter()
        .filter(|(_, given)| *given)
        .map(|(name, _)| format!("[run] {name}"))
        .collect();
        inert.extend(roles.keys().map(|name| format!("[roles.{name}]")));
        if !inert.is_empty() {
            let path = from.path.display();
            self.inert.push(format!("{path}: {} do nothing until `tollgate trust`.", inert.join(", ")));
        }
    }
}

impl Budget {
    /// The tighter of both in everything.
    pub(crate) fn and(self, other: Self) -> Self {
        fn least<T: Ord>(one: Option<T>, other: Option<T>) -> Option<T> {
            [one, other].into_iter().flatten().min()
        }
        Self {
            turns: least(self.turns, other.turns),
            calls: least(self.calls, other.calls),
            seconds: least(self.seconds, other.seconds),
            tokens: least(self.tokens, other.tokens),
            microdollars: least(self.microdollars, other.microdollars),
        }
    }
}

impl From<args::Limits> for Budget {
    fn from(given: args::Limits) -> Self {
        Self {
            turns: given.max_turns,
            calls: given.max_calls,
            seconds: given.max_seconds,
            tokens: given.max_tokens,
            microdollars: given.max_cost,
        }
    }
}

fn run(table: Table<'_>) -> Result<Settings, Fault> {
    let own = ["model", "role", "instructions", "plan", "anthropic", "openai", "prices"];
    table.only("run", &[&own[..], &LIMITS].concat())?;
    let text = |key| Ok::<_, Fault>(table.text(key)?.map(str::to_owned));
    let mut settings = Settings {
        model: text("model")?,
        role: text("role")?,
        instructions: text("instructions")?,
        plan: table.yes("plan")?.unwrap_or(false),
        limits: budget(table)?,
        ..Settings::default()
    };
    if let Some(table) = table.table("run", "anthropic")? {
        table.only("run.anthropic", &["base_url", "version"])?;
        settings.anthropic_url = url(table)?;
        settings.anthropic_version = table.text("version")?.map(str::to_owned);
    }
    if let Some(table) = table.table("run", "openai")? {
        table.only("run.openai", &["base_url"])?;
        settings.openai_url = url(table)?;
    }
    if let Some(table) = table.table("run", "prices")? {
        for (model, table) in table.tables("run.prices")? {
            settings.prices.insert(model.to_owned(), price(&format!("run.prices.{model}"), table)?);
        }
    }
    Ok(settings)
}

fn role(name: &str, table: Table<'_>) -> Result<Role, Fault> {
    let own = ["description", "model", "instructions", "tools", "route"];
    table.only(name, &[&own[..], &LIMITS].concat())?;
    let text = |key| Ok::<_, Fault>(table.text(key)?.map(str::to_owned));
    Ok(Role {
        description: text("description")?,
        model: text("model")?,
        instructions: text("instructions")?,
        tools: table.texts("tools")?,
        route: text("route")?,
        limits: budget(table)?,
    })
}

fn budget(table: Table<'_>) -> Result<Budget, Fault> {
    let too_many =
        |_| table.fault("max_turns", "`max_turns` is too large", "write a number of turns, as 50.");
    let turns = table.number("max_turns")?.map(u32::try_from).transpose().map_err(too_many)?;
    let money = table.amount("max_cost")?.map(|dollars| {
        microdollars(dollars)
            .ok_or_else(|| table.fault("max_cost", "`max_cost` is too large", "write dollars, as 0.50."))
    });
    Ok(Budget {
        turns,
        calls: table.number("max_calls")?,
        seconds: table.number("max_seconds")?,
        tokens: table.number("max_tokens")?,
        microdollars: money.transpose()?,
    })
}

fn url(table: Table<'_>) -> Result<Option<String>, Fault> {
    let Some(url) = table.text("base_url")? else { return Ok(None) };
    if url.starts_with("https://") || url.starts_with("http://") {
        return Ok(Some(url.to_owned()));
    }
    let hint = "write it as \"https://host/path\".";
    Err(table.fault("base_url", "`base_url` must begin with https:// or http://", hint))
}

fn price(name: &str, table: Table<'_>) -> Result<Price, Fault> {
    table.only(name, &["input", "output", "cache_read", "cache_write"])?;
    let needed = |key: &str| -> Result<f64, Fault> {
        let hint = "a price is dollars for a million tokens: input and output, and may have cache_read and cache_write.";
        table.amount(key)?.ok_or_else(|| table.fault(key, format!("[{name}] has no `{key}`"), hint))
    };
    Ok(Price {
        input: needed("input")?,
        output: needed("output")?,
        cache_read: table.amount("cache_read")?,
        cache_write: table.amount("cache_write")?,
    })
}

#[cfg(test)]
mod tests;
