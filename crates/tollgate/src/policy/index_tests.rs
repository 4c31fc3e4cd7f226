use std::path::Path;

use proptest::{collection::vec, prelude::*, sample::select};

use super::{
    index::GlobIndex,
    rule::{Located, PathPattern, Reading},
};
use crate::tool::Access;

fn part() -> impl Strategy<Value = String> {
    const PARTS: [&str; 12] =
        ["a", "b", "src", ".env", "*.rs", "x?", "*", "**", "{a,b}", "[ab]c", "lib.rs", "a*b"];
    select(&PARTS[..]).prop_map(str::to_owned)
}

fn name() -> impl Strategy<Value = String> {
    select(&["a", "b", "src", ".env", "main.rs", "xy", "ac", "lib.rs", "ab", "aab"][..])
        .prop_map(str::to_owned)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(500) })]

    #[test]
    fn a_pattern_that_matches_is_always_among_the_candidates(
        globs in vec((select(&["./", "/", "**/", ""][..]), vec(part(), 1..4)), 1..30), path in vec(name(), 1..5),
    ) {
        let patterns: Vec<PathPattern> = globs
            .iter()
            .filter_map(|(start, parts)| PathPattern::parse(&format!("{start}{}", parts.join("/"))).ok())
            .collect();
        let index = GlobIndex::new(patterns.iter().map(PathPattern::glob).zip(0_u32..));
        let text = path.join("/");
        let located = Located { absolute: format!("/{text}"), relative: Some(text) };
        for (at, pattern) in (0_u32..).zip(&patterns) {
            let seen = pattern.seen(&located).unwrap_or_default();
            let mut found = Vec::new();
            index.candidates(seen, &mut found);
            for (access, reading) in [(Access::Read, Reading::Narrow), (Access::Write, Reading::Wide)] {
                let matches = pattern.matches(&located, access, reading);
                prop_assert!(!matches || found.contains(&at), "{:?} on {seen:?}", pattern.glob());
            }
        }
    }

    #[test]
    fn a_path_is_the_same_however_it_is_spelt(path in vec(name(), 1..5), noise in vec(select(&["./", "x/../", "/"][..]), 5)) {
        let cwd = Path::new("/work");
        let noisy: String = path.iter().zip(&noise).enumerate()
            .map(|(at, (part, noise))| format!("{}{part}/", if at == 0 && *noise == "/" { "" } else { noise }))
            .collect();
        let plain = Located::new(cwd, Path::new(&path.join("/"))).map(|path| path.absolute);
        prop_assert_eq!(Located::new(cwd, Path::new(&noisy)).map(|path| path.absolute), plain);
    }
}
