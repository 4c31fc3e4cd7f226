use super::{Provider, WireNames};

fn named(provider: Provider, labels: &[&str]) -> Vec<String> {
    let names = WireNames::new(provider, labels.iter().copied());
    labels.iter().map(|label| names.wire(label).unwrap().to_owned()).collect()
}

#[test]
fn a_name_is_readable_and_bears_a_hash_only_where_it_must() {
    let long = "x".repeat(70);
    let cases: &[(&[&str], &[&str])] = &[
        (&["read"], &["read"]),
        (&["@github/create_issue"], &["github__create_issue"]),
        (&["files.read/all"], &["files_read_all"]),
        (&["2fa"], &["_2fa"]),
        (&["@my server/tool"], &["my_server__tool"]),
        // The tool whose label is the name keeps it.
        (&["a__b", "@a/b"], &["a__b", "a__b_c93bbe63"]),
        // Nobody's label is the name: each is told apart.
        (&["a.b", "a/b"], &["a_b_2e7336dc", "a_b_c14cddc0"]),
        // Our own search keeps its name; the names of the provider's are taken.
        (&["tool_search"], &["tool_search"]),
        (&[&long], &["xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx_c71bd109"]),
    ];
    for (labels, expected) in cases {
        assert_eq!(named(Provider::OpenAiChat, labels), *expected);
    }
    assert_eq!(named(Provider::Anthropic, &[&long]), [&*long]);
}

#[test]
fn every_name_is_legal_leads_back_and_depends_on_no_order() {
    let odd = [
        "@s/ä ö",
        "@s/ä_ö",
        "",
        "-",
        "@",
        "@/",
        "@s/",
        "日本語",
        "a b",
        "a_b",
        "a\u{0}b",
        "..",
        "tool_search",
    ];
    let long: Vec<String> = (0..50).map(|n| format!("@server/{}{n}", "very_long_".repeat(20))).collect();
    let mut labels: Vec<&str> = odd.into_iter().chain(long.iter().map(String::as_str)).collect();
    for provider in Provider::ALL {
        let names = WireNames::new(provider, labels.iter().copied());
        assert_eq!(names.len(), labels.len());
        for label in &labels {
            let wire = names.wire(label).unwrap();
            assert_eq!(names.inner(wire), Some(*label));
            assert!(!wire.is_empty() && wire.len() <= provider.longest_name(), "{wire}");
            assert!(wire.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_'), "{wire}");
            assert!(wire.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-'), "{wire}");
        }
        for _ in 0..10 {
            labels.rotate_left(7);
            assert_eq!(WireNames::new(provider, labels.iter().copied()), names);
        }
    }
}

#[test]
fn a_name_that_was_never_given_out_leads_nowhere() {
    let names = WireNames::new(Provider::Anthropic, ["read", "@a/b"]);
    for made_up in ["write", "a_b", "@a/b", "READ", "read ", ""] {
        assert_eq!(names.inner(made_up), None, "{made_up}");
    }
}
