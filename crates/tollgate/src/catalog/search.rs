//! Finds tools by what they are called and what they say they do.
//!
//! Exact names and aliases first, then prefixes, then BM25 over names, descriptions and parameters.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use serde_json::Value;

use crate::tool::ToolSpec;

/// An index over tools; documents are numbered in the order they were given.
#[derive(Debug, Default)]
pub struct SearchIndex {
    names: Vec<Names>,
    terms: HashMap<Box<str>, u32, RandomState>,
    postings: Vec<Vec<Posting>>,
    lengths: Vec<f32>,
    mean_length: f32,
}

/// A tool that was found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Hit {
    /// Its number in the index.
    pub document: usize,
    /// How it was found.
    pub how: Found,
    /// How well, among hits found the same way.
    pub score: f32,
}

/// The ways to be found, best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Found {
    /// The query is its name.
    Name,
    /// The query is one of its aliases.
    Alias,
    /// Its name begins with the query.
    Prefix,
    /// Its words fit the query's.
    Words,
}

#[derive(Debug)]
struct Names {
    own: Vec<Box<str>>,
    aliases: Vec<Box<str>>,
}

#[derive(Debug, Clone, Copy)]
struct Posting {
    document: u32,
    weight: f32,
}

/// How much a word counts by where it stands.
const IN_NAME: f32 = 4.0;
const IN_DESCRIPTION: f32 = 1.0;
const IN_PARAMETER: f32 = 0.8;

/// The usual constants of BM25: how fast repetition saturates, how much length is held against a text.
const K1: f32 = 1.2;
const B: f32 = 0.6;

impl SearchIndex {
    /// Indexes the tools; `label` is the name a model calls each by.
    pub fn build<'a>(tools: impl IntoIterator<Item = (&'a str, &'a ToolSpec)>) -> Self {
        let mut index = Self::default();
        let mut weights: HashMap<u32, f32, RandomState> = HashMap::default();
        for (label, spec) in tools {
            index.add(label, spec, &mut weights);
        }
        let total: f32 = index.lengths.iter().sum();
        #[expect(clippy::cast_precision_loss, reason = "a mean needs no more")]
        let count = index.lengths.len().max(1) as f32;
        index.mean_length = (total / count).max(1.0);
        index
    }

    fn add(&mut self, label: &str, spec: &ToolSpec, weights: &mut HashMap<u32, f32, RandomState>) {
        let document = u32::try_from(self.names.len()).unwrap_or(u32::MAX);
        weights.clear();
        let mut length = 0.0;
        let mut take = |text: &str, weight: f32, index: &mut Self| {
            for_each_word(text, |word| {
                *weights.entry(index.term(word)).or_default() += weight;
                length += weight;
            });
        };
        take(label, IN_NAME, self);
        for alias in &spec.aliases {
            take(alias.as_str(), IN_NAME, self);
        }
        take(&spec.description, IN_DESCRIPTION, self);
        for_each_parameter(&spec.input_schema, &mut |text| take(text, IN_PARAMETER, self));
        for (&term, &weight) in weights.iter() {
            self.postings[term as usize].push(Posting { document, weight });
        }
        self.lengths.push(length);
        let lower = |text: &str| text.to_lowercase().into_boxed_str();
        self.names.push(Names {
            own: vec![lower(label), lower(spec.name())],
            aliases: spec.aliases.iter().map(|alias| lower(alias.as_str())).collect(),
        });
    }

    fn term(&mut self, word: &str) -> u32 {
        if let Some(term) = self.terms.get(word) {
            return *term;
        }
        let term = u32::try_from(self.postings.len()).unwrap_or(u32::MAX);
        self.postings.push(Vec::new());
        self.terms.insert(word.into(), term);
        term
    }

    /// The best `limit` hits, best first. Equal ones keep the order of the index.
    pub fn search(&self, query: &str, limit: usize) -> Vec<Hit> {
        self.search_among(query, limit, |_| true)
    }

    /// The same among the documents that `keep` lets through.
    pub fn search_among(&self, query: &str, limit: usize, keep: impl Fn(usize) -> bool) -> Vec<Hit> {
        let scores = self.by_words(query);
        let wanted = query.trim().to_lowercase();
        let hits = self.names.iter().zip(scores).enumerate().filter_map(|(document, (names, score))| {
            let how = if wanted.is_empty() { None } else { names.found(&wanted) };
            let how = how.or((score > 0.0).then_some(Found::Words))?;
            Some(Hit { document, how, score })
        });
        let mut hits: Vec<Hit> = hits.filter(|hit| keep(hit.document)).collect();
        let better = |a: &Hit, b: &Hit| {
            a.how.cmp(&b.how).then(b.score.total_cmp(&a.score)).then(a.document.cmp(&b.document))
        };
        // Only the best are put in order: a common word hits nearly everything.
        if limit > 0 && hits.len() > limit {
            hits.select_nth_unstable_by(limit - 1, better);
        }
        hits.truncate(limit);
        hits.sort_by(better);
        hits
    }

    #[expect(clippy::cast_precision_loss, reason = "scores need no more")]
    fn by_words(&self, query: &str) -> Vec<f32> {
        let mut scores = vec![0.0; self.names.len()];
        let count = self.names.len() as f32;
        for_each_word(query, |word| {
            let Some(term) = self.terms.get(word) else { return };
            let postings = &self.postings[*term as usize];
            let rarity = (1.0 + (count - postings.len() as f32 + 0.5) / (postings.len() as f32 + 0.5)).ln();
            for Posting { document, weight } in postings {
                let length = self.lengths[*document as usize] / self.mean_length;
                let gain = weight * (K1 + 1.0) / (weight + K1 * (1.0 - B + B * length));
                scores[*document as usize] += rarity * gain;
            }
        });
        scores
    }
}

impl Names {
    fn found(&self, wanted: &str) -> Option<Found> {
        if self.own.iter().any(|name| **name == *wanted) {
            Some(Found::Name)
        } else if self.aliases.iter().any(|name| **name == *wanted) {
            Some(Found::Alias)
        } else if self.own.iter().chain(&self.aliases).any(|name| name.starts_with(wanted)) {
            Some(Found::Prefix)
        } else {
            None
        }
    }
}

/// Calls `see` with each word in lower case: runs of letters and digits, `camelCase` taken apart, a plural `s` off.
fn for_each_word(text: &str, mut see: impl FnMut(&str)) {
    let mut word = String::with_capacity(24);
    let mut end = |word: &mut String| {
        if word.len() > 3 && word.ends_with('s') && !word.ends_with("ss") {
            word.pop();
        }
        if !word.is_empty() {
            see(word);
            word.clear();
        }
    };
    let mut before_is_lower = false;
    for char in text.chars() {
        if !char.is_alphanumeric() || (char.is_uppercase() && before_is_lower) {
            end(&mut word);
        }
        if char.is_alphanumeric() {
            word.extend(char.to_lowercase());
        }
        before_is_lower = char.is_lowercase() || char.is_ascii_digit();
    }
    end(&mut word);
}

/// Calls `see` with the name and the description of every parameter, nested ones too.
fn for_each_parameter(schema: &Value, see: &mut impl FnMut(&str)) {
    let mut stack = vec![schema];
    while let Some(schema) = stack.pop() {
        let Value::Object(map) = schema else { continue };
        if let Some(Value::Object(properties)) = map.get("properties") {
            for (name, property) in properties {
                see(name);
                if let Some(Value::String(text)) = property.get("description") {
                    see(text);
                }
                stack.push(property);
            }
        }
        stack.extend(map.get("items"));
    }
}

#[cfg(test)]
#[path = "search_tests.rs"]
mod tests;
