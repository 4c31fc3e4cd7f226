use super::uri::{NAMELESS, percent_decoded, resolve};

#[test]
fn references_resolve_as_rfc_3986_shows() {
    let base = "http://a/b/c/d;p?q";
    let cases = [
        ("g:h", "g:h"),
        ("g", "http://a/b/c/g"),
        ("./g", "http://a/b/c/g"),
        ("g/", "http://a/b/c/g/"),
        ("/g", "http://a/g"),
        ("//g", "http://g"),
        ("?y", "http://a/b/c/d;p?y"),
        ("g?y", "http://a/b/c/g?y"),
        ("#s", "http://a/b/c/d;p?q"),
        ("g#s", "http://a/b/c/g"),
        (";x", "http://a/b/c/;x"),
        ("", "http://a/b/c/d;p?q"),
        (".", "http://a/b/c/"),
        ("./", "http://a/b/c/"),
        ("..", "http://a/b/"),
        ("../", "http://a/b/"),
        ("../g", "http://a/b/g"),
        ("../..", "http://a/"),
        ("../../g", "http://a/g"),
        ("../../../g", "http://a/g"),
        ("/./g", "http://a/g"),
        ("/../g", "http://a/g"),
        ("g.", "http://a/b/c/g."),
        ("..g", "http://a/b/c/..g"),
        ("./g/.", "http://a/b/c/g/"),
        ("g/../h", "http://a/b/c/h"),
    ];
    for (reference, expected) in cases {
        assert_eq!(resolve(base, reference), expected, "{reference:?}");
    }
}

#[test]
fn names_without_a_place_keep_their_form() {
    let cases = [
        ("urn:uuid:deadbeef", "#/$defs/a", "urn:uuid:deadbeef"),
        ("urn:uuid:deadbeef", "urn:example:root", "urn:example:root"),
        ("http://host", "leaf", "http://host/leaf"),
        (NAMELESS, "leaf.json", "json-schema:///leaf.json"),
        (NAMELESS, "HTTP://Host/Path", "http://host/Path"),
        ("tag:example.com,2024:x", "", "tag:example.com,2024:x"),
    ];
    for (base, reference, expected) in cases {
        assert_eq!(resolve(base, reference), expected, "{reference:?} against {base:?}");
    }
}

#[test]
fn only_whole_escapes_are_decoded() {
    for (text, expected) in [("a%25b", "a%b"), ("%C3%A4", "ä"), ("%", "%"), ("%2", "%2"), ("%zz", "%zz")] {
        assert_eq!(percent_decoded(text), expected);
    }
}
