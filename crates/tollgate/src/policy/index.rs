//! Finds the few patterns of thousands that could match a text, so that only those are tried.

use std::collections::HashMap;

use aho_corasick::AhoCorasick;
use foldhash::fast::RandomState;

type Map<K, V> = HashMap<K, V, RandomState>;

/// Patterns over texts with `/` between their parts, each filed under the piece of it that fewest others share:
/// how it begins, how it ends, or a part that is written out.
#[derive(Debug, Default)]
pub(crate) struct GlobIndex {
    starts: Prefixes,
    // Of the texts turned round.
    ends: Prefixes,
    parts: Map<Box<str>, Vec<u32>>,
    // What stands somewhere in the text, where nothing else is written out.
    inner: Option<(AhoCorasick, Vec<u32>)>,
    rest: Vec<u32>,
}

/// Sorted beginnings, each with the next shorter one that it begins with itself.
#[derive(Debug, Default)]
struct Prefixes(Vec<Prefix>);

#[derive(Debug)]
struct Prefix {
    text: Box<[u8]>,
    shorter: Option<u32>,
    ids: Vec<u32>,
}

/// The pieces of a pattern it could be filed under. The text as a whole, and everything above it, has them too.
struct Pieces<'a> {
    start: &'a str,
    end: Vec<u8>,
    part: Option<&'a str>,
    inner: Option<&'a str>,
}

/// From so many on, what patterns share is no way to tell them apart.
const SHARED: u32 = 32;

const WILD: [char; 7] = ['*', '?', '[', ']', '{', '}', '\\'];

impl GlobIndex {
    /// Files each pattern under its piece.
    pub(crate) fn new<'a>(patterns: impl Iterator<Item = (&'a str, u32)> + Clone) -> Self {
        let pieces: Vec<_> = patterns.map(|(glob, id)| (Pieces::of(glob), id)).collect();
        let (mut starts, mut ends, mut parts) = (Map::default(), Map::default(), Map::default());
        for (Pieces { start, end, part, .. }, _) in &pieces {
            *starts.entry(*start).or_insert(0_u32) += 1;
            *ends.entry(end.as_slice()).or_insert(0_u32) += 1;
            part.iter().for_each(|part| *parts.entry(*part).or_insert(0_u32) += 1);
        }
        let mut index = Self::default();
        let (mut by_start, mut by_end): (Map<_, Vec<u32>>, Map<_, Vec<u32>>) = Default::default();
        let mut inner = Vec::new();
        for (Pieces { start, end, part, inner: within }, id) in &pieces {
            let sharers =
                |count: Option<&u32>, empty: bool| if empty { u32::MAX } else { *count.unwrap_or(&0) };
            let of_start = sharers(starts.get(start), start.is_empty());
            let of_end = sharers(ends.get(end.as_slice()), end.is_empty());
            let of_part = part.map_or(u32::MAX, |part| sharers(parts.get(part), false));
            match of_start.min(of_end).min(of_part) {
                // Shared by so many that looking for something inside tells more.
                SHARED.. => match within {
                    Some(within) => inner.push((*within, *id)),
                    None if of_start < u32::MAX => by_start.entry(start.as_bytes()).or_default().push(*id),
                    None => index.rest.push(*id),
                },
                least if least == of_start => by_start.entry(start.as_bytes()).or_default().push(*id),
                least if least == of_part => {
                    index.parts.entry(part.unwrap_or_default().into()).or_default().push(*id);
                }
                _ => by_end.entry(end.as_slice()).or_default().push(*id),
            }
        }
        if !inner.is_empty() {
            let ids = inner.iter().map(|(_, id)| *id).collect();
            match AhoCorasick::new(inner.iter().map(|(within, _)| within)) {
                Ok(found) => index.inner = Some((found, ids)),
                // Too much for a table: each is tried.
                Err(_) => index.rest.extend(ids),
            }
        }
        index.starts = Prefixes::new(by_start);
        index.ends = Prefixes::new(by_end);
        index
    }

    /// Every pattern that could match the text or, where it could be a path, something above it.
    pub(crate) fn candidates(&self, text: &str, found: &mut Vec<u32>) {
        found.extend(&self.rest);
        self.starts.of(text.as_bytes(), found);
        if let Some((inner, ids)) = &self.inner {
            found.extend(inner.find_overlapping_iter(text).map(|hit| ids[hit.pattern().as_usize()]));
        }
        if !self.parts.is_empty() {
            for part in text.split('/') {
                found.extend(self.parts.get(part).into_iter().flatten());
            }
        }
        if !self.ends.0.is_empty() {
            let mut turned: Vec<u8> = text.bytes().rev().collect();
            self.ends.of(&turned, found);
            while let Some(slash) = turned.iter().position(|byte| *byte == b'/') {
                turned.drain(..=slash);
                self.ends.of(&turned, found);
            }
        }
    }
}

impl<'a> Pieces<'a> {
    fn of(glob: &'a str) -> Self {
        // The folder itself is meant by `folder/**` too.
        let start = glob.split(WILD).next().unwrap_or_default().trim_end_matches('/');
        let wild = glob.contains(WILD);
        let end = if wild { glob.rsplit(WILD).next().unwrap_or_default() } else { "" };
        let part = glob
            .split('/')
            .filter(|part| !part.is_empty() && !part.contains(WILD))
            .max_by_key(|part| part.len());
        let inner = glob.split(WILD).map(|piece| piece.trim_matches('/')).max_by_key(|piece| piece.len());
        // In `{a,b}/c` a comma may part what looks like one piece.
        let plain = !glob.contains(['{', '[', '\\']);
        Self {
            start,
            end: if plain { end.trim_start_matches('/').bytes().rev().collect() } else { Vec::new() },
            part: part.filter(|_| plain),
            inner: inner.filter(|inner| plain && !inner.is_empty()),
        }
    }
}

impl Prefixes {
    fn new(by_text: Map<&[u8], Vec<u32>>) -> Self {
        let mut list: Vec<_> =
            by_text.into_iter().map(|(text, ids)| Prefix { text: text.into(), shorter: None, ids }).collect();
        list.sort_by(|a, b| a.text.cmp(&b.text));
        let mut open: Vec<u32> = Vec::new();
        for at in 0..list.len() {
            while open.last().is_some_and(|last| !list[at].text.starts_with(&list[*last as usize].text)) {
                open.pop();
            }
            list[at].shorter = open.last().copied();
            open.extend(u32::try_from(at));
        }
        Self(list)
    }

    /// Everything filed under a beginning of the text.
    fn of(&self, text: &[u8], found: &mut Vec<u32>) {
        let after = self.0.partition_point(|prefix| *prefix.text <= *text);
        let mut at = after.checked_sub(1);
        while let Some(prefix) = at.and_then(|at| self.0.get(at)) {
            if text.starts_with(&prefix.text) {
                found.extend(&prefix.ids);
            }
            at = prefix.shorter.map(|at| at as usize);
        }
    }
}
