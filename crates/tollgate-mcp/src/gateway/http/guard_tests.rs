use super::*;

fn admits(names: &Names, host: &[&str], origin: &[&str]) -> bool {
    let mut headers = HeaderMap::new();
    host.iter().for_each(|host| drop(headers.append(header::HOST, host.parse().unwrap())));
    origin.iter().for_each(|origin| drop(headers.append(header::ORIGIN, origin.parse().unwrap())));
    names.admit(&Uri::from_static("/mcp"), &headers).is_ok()
}

#[test]
fn only_names_of_ours_and_pages_of_this_machine_are_admitted() {
    let names = Names::default();
    for host in ["localhost:8787", "127.0.0.1", "127.0.0.1:1", "[::1]:8787", "LOCALHOST"] {
        assert!(admits(&names, &[host], &[]), "{host}");
    }
    for host in [
        "evil.example.com",
        "localhost.evil.com",
        "127.0.0.1.evil.com:80",
        "evil@localhost:1/x",
        "0.0.0.0",
        "",
    ] {
        assert!(!admits(&names, &[host], &[]), "{host}");
    }
    assert!(!admits(&names, &[], &[]));
    assert!(!admits(&names, &["localhost", "evil.example.com"], &[]));
    for origin in ["http://localhost:3000", "https://127.0.0.1", "http://[::1]:1"] {
        assert!(admits(&names, &["localhost"], &[origin]), "{origin}");
    }
    for origin in
        ["http://evil.example.com", "null", "http://localhost.evil.com", "file://localhost", "nonsense"]
    {
        assert!(!admits(&names, &["localhost"], &[origin]), "{origin}");
    }
    assert!(!admits(&names, &["localhost"], &["http://localhost", "http://evil.example.com"]));
}

#[test]
fn names_that_were_given_are_admitted_and_nothing_near_them() {
    let names = Names {
        hosts: vec!["tools.example.com".into(), "other.example.com:8443".into()],
        origins: vec!["https://app.example.com".into()],
    };
    assert!(admits(&names, &["tools.example.com:1"], &["https://app.example.com"]));
    assert!(admits(&names, &["other.example.com:8443"], &[]));
    assert!(!admits(&names, &["other.example.com:1"], &[]));
    assert!(!admits(&names, &["x.tools.example.com"], &[]));
    assert!(!admits(&names, &["tools.example.com"], &["http://app.example.com"]));
    assert!(!admits(&names, &["tools.example.com"], &["https://app.example.com.evil.com"]));
}

#[test]
fn a_caller_that_asks_too_often_is_told_when_to_come_back_and_others_are_not_held_up() {
    let rate = Rate::new(10);
    let (one, two) = (Caller::new("one"), Caller::new("two"));
    let refused = (0..100).filter_map(|_| rate.take(&one).err()).collect::<Vec<_>>();
    assert_eq!(refused.len(), 80);
    assert!(refused[0] <= Duration::from_millis(100));
    assert!(rate.take(&two).is_ok());
    assert!((0..100).all(|_| Rate::new(0).take(&one).is_ok()));
}
