//! Every argument that is listed is understood as its example writes it.

use super::{Declared, KNOWN, check_name};

fn message(arguments: &str) -> String {
    let (_, read) = Declared::read(arguments.parse().unwrap());
    read.map_or_else(|error| error.to_string(), |()| "ok".to_owned())
}

#[test]
fn every_known_argument_is_taken_as_its_example_shows() {
    for (name, usage) in KNOWN {
        for usage in usage.split("` or `") {
            assert_eq!(message(usage), "ok", "{name}");
        }
    }
}

#[test]
fn a_badly_written_argument_is_told_its_example() {
    let cases = [
        ("effects", "`effects` is written `effects = |scope, args| Effects::reading()`"),
        ("check = \"f\"", "`check` is written `check = my_check`"),
        ("name(\"x\")", "`name` is written `name = \"other_name\"`"),
        ("aliases = \"x\"", "`aliases` is written `aliases(\"x\", \"y\")`"),
        ("owner = 3", "`owner` is written `owner = \"the payments team\"`"),
        ("retry = -1", "`retry` is written `retry = 3`"),
        ("retry = 0", "`retry` is at least 1"),
        ("interrupt = never", "`interrupt` is written `interrupt = cancel` or `interrupt = block`"),
        ("inline = true", "`inline` is written `inline`"),
        ("unlimited = 3", "`unlimited` is written `unlimited`"),
    ];
    for (arguments, expected) in cases {
        assert_eq!(message(arguments), expected);
    }
}

#[test]
fn a_near_miss_is_named_and_a_far_one_is_not() {
    assert!(
        message("timeout = 3").starts_with("`#[tool]` has no argument `timeout`; did you mean `timeout_ms`?")
    );
    assert!(message("color = 3").starts_with("`#[tool]` has no argument `color`\nIt has: effects, check"));
}

#[test]
fn the_first_mistake_is_the_one_that_is_told() {
    assert_eq!(message("inline, inline, colour"), "`inline` is given twice; keep one");
}

#[test]
fn two_arguments_that_decide_the_same_cannot_stand_together() {
    for pair in ["unlimited, max_result_chars = 3", "deferred, always_load", "check = f, async_check = g"] {
        assert!(message(pair).ends_with("decide the same thing; keep one of them"), "{pair}");
    }
}

#[test]
fn a_name_is_1_to_128_of_the_characters_every_provider_takes() {
    let fits = |name: &str| check_name(&syn::LitStr::new(name, proc_macro2::Span::call_site())).is_ok();
    assert!(fits("files/read-all.v2") && fits(&"x".repeat(128)));
    assert!(!fits("") && !fits("two words") && !fits("größe") && !fits(&"x".repeat(129)));
}
