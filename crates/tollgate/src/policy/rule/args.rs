//! Matchers over arguments: `repo=sandbox-*`, `count=1..5`, `path in ./src`, `kind in [a, b]`, `url at *.x.org`,
//! `/json/pointer~regex`.

use std::{path::Path, sync::Arc};

use regex::Regex;
use serde_json::Value;

use super::{HostPattern, Located, PathPattern, Reading};
use crate::{
    policy::{Query, pattern::glob},
    tool::{Access, Resource},
};

/// One argument and what it must be.
///
/// Where the pointer leads to several values, a rule that widens wants all of them to match, one that tightens any.
#[derive(Debug, Clone)]
pub(crate) struct ArgMatcher {
    pub(crate) pointer: Pointer,
    pub(crate) test: Test,
}

/// The way to a value: names, and `*` for every item.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Pointer(Arc<[String]>);

/// What a value must be.
#[derive(Debug, Clone)]
pub(crate) enum Test {
    One(Matcher),
    /// One of these.
    Any(Vec<Matcher>),
}

#[derive(Debug, Clone)]
pub(crate) enum Matcher {
    Exact(Arc<str>),
    Glob(Arc<str>),
    Path(PathPattern),
    Range { min: f64, max: f64 },
    Host(HostPattern),
    Regex(Arc<Regex>),
}

impl ArgMatcher {
    pub(crate) fn matches(&self, query: &Query<'_>, reading: Reading) -> bool {
        let mut values = Vec::new();
        self.pointer.collect(query.args.value(), &mut values);
        let good = |value: &&Value| self.test.accepts(value, query, reading);
        match reading {
            Reading::Narrow => !values.is_empty() && values.iter().all(good),
            Reading::Wide => values.iter().any(good),
        }
    }

    pub(crate) fn anchor(&mut self, folder: Option<&Path>, home: Option<&Path>) {
        let all = match &mut self.test {
            Test::One(one) => std::slice::from_mut(one),
            Test::Any(all) => all,
        };
        for matcher in all {
            if let Matcher::Path(pattern) = matcher {
                pattern.anchor(folder, home);
            }
        }
    }
}

impl Test {
    pub(crate) fn all(&self) -> &[Matcher] {
        match self {
            Self::One(one) => std::slice::from_ref(one),
            Self::Any(all) => all,
        }
    }

    /// A list stands for its items.
    fn accepts(&self, value: &Value, query: &Query<'_>, reading: Reading) -> bool {
        match (value, reading) {
            (Value::Array(items), Reading::Narrow) => {
                !items.is_empty() && items.iter().all(|item| self.accepts(item, query, reading))
            }
            (Value::Array(items), Reading::Wide) => {
                items.iter().any(|item| self.accepts(item, query, reading))
            }
            _ => self.all().iter().any(|matcher| matcher.accepts(value, query, reading)),
        }
    }
}

impl Matcher {
    /// A glob; on paths where it is written as one, exact where it has no wildcard.
    pub(crate) fn of_glob(text: &str) -> Result<Self, String> {
        let path = ["./", "~/", "/", "**/"].iter().any(|start| text.starts_with(start));
        Ok(if path {
            Self::Path(PathPattern::parse(text)?)
        } else if text.contains(['*', '?']) {
            Self::Glob(text.into())
        } else {
            Self::Exact(text.into())
        })
    }

    pub(crate) fn of_regex(text: &str) -> Result<Self, String> {
        let anchored = format!(r"\A(?:{text})\z");
        let regex = regex::RegexBuilder::new(&anchored).size_limit(1 << 20).build();
        regex.map(|regex| Self::Regex(Arc::new(regex))).map_err(|error| {
            let why = error.to_string();
            format!(
                "{text:?} is no regular expression: {}",
                why.lines().last().unwrap_or_default().trim_start_matches("error: ")
            )
        })
    }

    /// `1..5`, `..5`, `1..`; `None` when it is written as no range.
    pub(crate) fn of_range(text: &str) -> Option<Self> {
        let (min, max) = text.split_once("..")?;
        let bound = |text: &str, open: f64| match text.trim() {
            "" => Some(open),
            text => text.parse::<f64>().ok().filter(|bound| bound.is_finite()),
        };
        let (min, max) = (bound(min, f64::NEG_INFINITY)?, bound(max, f64::INFINITY)?);
        (min.is_finite() || max.is_finite()).then_some(Self::Range { min, max })
    }

    fn accepts(&self, value: &Value, query: &Query<'_>, reading: Reading) -> bool {
        // What tightens means what it cannot read; nothing at all it does not mean.
        let wide = reading == Reading::Wide;
        match value {
            Value::Null => return false,
            Value::Object(_) => return wide,
            _ => {}
        }
        let written = || match value {
            Value::String(text) => Some(text.clone()),
            Value::Number(_) | Value::Bool(_) => Some(value.to_string()),
            _ => None,
        };
        match self {
            Self::Exact(wanted) => {
                let same = match value {
                    Value::String(text) => **wanted == **text,
                    _ => written().is_some_and(|text| **wanted == *text),
                };
                same || (wide && number(wanted).is_some_and(|wanted| number_of(value) == Some(wanted)))
            }
            Self::Glob(pattern) => match value {
                Value::String(text) => glob(pattern, text),
                _ => written().is_some_and(|text| glob(pattern, &text)),
            },
            Self::Path(pattern) => value.as_str().map_or(wide, |text| on_path(pattern, text, query, reading)),
            Self::Range { min, max } => {
                let known = if wide { number_of(value) } else { value.as_f64() };
                known.map_or(wide, |number| (*min..=*max).contains(&number))
            }
            Self::Host(pattern) => written().map_or(wide, |text| pattern.accepts(&text, reading)),
            Self::Regex(regex) => written().is_some_and(|text| regex.is_match(&text)),
        }
    }
}

/// A text as a number, however it is written.
pub(crate) fn number(text: &str) -> Option<f64> {
    text.trim().parse().ok().filter(|number: &f64| number.is_finite())
}

fn number_of(value: &Value) -> Option<f64> {
    match value {
        Value::Number(_) => value.as_f64().filter(|number| number.is_finite()),
        Value::String(text) => number(text),
        _ => None,
    }
}

/// A path as it is written, and where it really leads: a link in it makes the call touch another one than it names.
fn on_path(pattern: &PathPattern, text: &str, query: &Query<'_>, reading: Reading) -> bool {
    // A rule that widens must hold for whatever is done there, so that no folder itself slips in.
    let means = |path: &Located| pattern.matches(path, Access::Write, reading);
    let written = Located::new(query.scope.cwd(), Path::new(text))
        .map_or(reading == Reading::Wide, |path| means(&path));
    match reading {
        Reading::Narrow => written && unnamed(query).all(|path| means(&path)),
        Reading::Wide => written || unnamed(query).any(|path| means(&path)),
    }
}

/// Paths that the call touches and none of its arguments says.
pub(crate) fn unnamed(query: &Query<'_>) -> impl Iterator<Item = Located> {
    let located = |path: &Path| Located::new(query.scope.cwd(), path);
    let touched = query.effects.touches.iter().filter_map(move |resource| match resource {
        Resource::Path { path, .. } => located(path),
        _ => None,
    });
    touched.filter(move |path| {
        !says(&query.args, &|text| {
            located(Path::new(text)).is_some_and(|named| named.absolute == path.absolute)
        })
    })
}

fn says(value: &Value, is: &impl Fn(&str) -> bool) -> bool {
    match value {
        Value::String(text) => is(text),
        Value::Array(items) => items.iter().any(|item| says(item, is)),
        Value::Object(map) => map.values().any(|item| says(item, is)),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

impl Pointer {
    /// `a.b`, or `/a/b` as in JSON.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let parts: Vec<String> = match text.strip_prefix('/') {
            Some(rest) => rest.split('/').map(|part| part.replace("~1", "/").replace("~0", "~")).collect(),
            None => text.split('.').map(str::to_owned).collect(),
        };
        if parts.iter().any(String::is_empty) {
            return Err(format!("{text:?} names no argument; write `name`, `a.b` or `/a/b`"));
        }
        Ok(Self(parts.into()))
    }

    pub(crate) fn first(&self) -> Option<&String> {
        self.0.first()
    }

    /// The one argument at the top it names, where it names one.
    pub(crate) fn top(&self) -> Option<&str> {
        match &self.0[..] {
            [one] if one != "*" => Some(one),
            _ => None,
        }
    }

    fn collect<'a>(&self, value: &'a Value, into: &mut Vec<&'a Value>) {
        collect(&self.0, value, into);
    }
}

fn collect<'a>(parts: &[String], value: &'a Value, into: &mut Vec<&'a Value>) {
    let Some((part, rest)) = parts.split_first() else {
        into.push(value);
        return;
    };
    match (part.as_str(), value) {
        ("*", Value::Array(items)) => items.iter().for_each(|item| collect(rest, item, into)),
        ("*", Value::Object(map)) => map.values().for_each(|item| collect(rest, item, into)),
        (name, Value::Object(map)) => map.get(name).into_iter().for_each(|item| collect(rest, item, into)),
        (at, Value::Array(items)) => {
            let item = at.parse::<usize>().ok().and_then(|at| items.get(at));
            item.into_iter().for_each(|item| collect(rest, item, into));
        }
        _ => {}
    }
}
