//! Policy from files: strict, layered, trusted by content; grants written back with comments kept.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "helpers of tests fail as loudly as tests")]
#![expect(clippy::disallowed_methods, reason = "the test itself writes the files that are read")]

use std::{fs, os::unix::fs::PermissionsExt as _, path::Path};

use serde_json::json;
use tollgate::{
    Effects, Scope, ToolSpec,
    guard::{Run, Workspace},
    policy::{
        Decision, Grant, Layer, Layers, Lifetime, NotGranted, Policy, Query, Stance,
        config::{BadConfig, ConfigFile, Sources, Trust, TrustStore},
    },
    tool::Resource,
};

fn parse(text: &str) -> Result<ConfigFile, BadConfig> {
    ConfigFile::parse(
        Path::new("/p/tollgate.toml"),
        text,
        Layer::Project,
        Some(Path::new("/home/me")),
        &["hook"],
    )
}

/// The fault of a file, as people read it.
fn fault(text: &str) -> (String, String) {
    let bad = parse(text).expect_err("it is bad");
    (bad.to_string(), bad.hint)
}

#[test]
fn every_fault_has_its_place_and_a_hint() {
    let cases = [
        ("[policy]\nallow = [\"a\"", "/p/tollgate.toml:2:13: ", ""),
        (
            "[policy]\nallow = \"grep\"",
            "/p/tollgate.toml:2:9: `allow` must be a list, and this is a text",
            "give `allow` a list.",
        ),
        ("[policy]\nallow = [1]", "/p/tollgate.toml:2:10: a rule of `allow` must be a text", ""),
        (
            "[policy]\nalow = []",
            "/p/tollgate.toml:2:1: `alow` is no key of [policy]",
            "did you mean `allow`?",
        ),
        ("[polcy]\n", "/p/tollgate.toml:1:2: `polcy` is no key of the file", "did you mean `policy`?"),
        ("policy = 3", "/p/tollgate.toml:1:10: [policy] must be a table, and this is a number", ""),
        (
            "[policy]\ndeny = [\"a\",\n  \"gr ep\"]",
            "/p/tollgate.toml:3:4: \"gr ep\" is no rule: ' ' cannot stand in a tool pattern",
            "",
        ),
        (
            "[policy]\ndeny = [\"edit(path)\"]",
            "/p/tollgate.toml:2:15: \"edit(path)\" is no rule: ",
            "a matcher is ",
        ),
        (
            "[policy]\ndeny = [\"edit(a=1, /b~[)\"]",
            "/p/tollgate.toml:2:20: \"edit(a=1, /b~[)\" is no rule: \"[\" is no regular expression",
            "",
        ),
        (
            "[policy]\ndeny = [\"read(a[)\"]",
            "/p/tollgate.toml:2:15: \"read(a[)\" is no rule: \"a[\" is no path pattern",
            "",
        ),
        ("[policy]\ndeny = [\"read(../x)\"]", "/p/tollgate.toml:2:15: ", ""),
        ("[policy]\ndeny = [\"shell(a && b)\"]", "/p/tollgate.toml:2:16: ", ""),
        (
            "[policy]\ndeny = [\"shell(ls\"]",
            "/p/tollgate.toml:2:18: \"shell(ls\" is no rule: the bracket is not closed",
            "close it with `)`",
        ),
        (
            "[policy]\ndeny = [\"read(path=x)\"]",
            "/p/tollgate.toml:2:15: ",
            "`read(…)` speaks of what any tool touches",
        ),
        (
            "[[policy.rule]]\ntool = \"a\"",
            "/p/tollgate.toml:1:1: this rule does not say what to do",
            "give it `do",
        ),
        ("[[policy.rule]]\ndo = \"deny\"", "/p/tollgate.toml:1:1: this rule does not say what it is for", ""),
        (
            "[[policy.rule]]\ndo = \"forbid\"\ntool = \"a\"",
            "/p/tollgate.toml:2:6: `do` is \"forbid\"",
            "`do` is \"allow\", \"ask\" or \"deny\".",
        ),
        (
            "[[policy.rule]]\ndo = \"deny\"\nalways = true\ntool = \"a\"",
            "/p/tollgate.toml:2:6: `always` is for `ask`",
            "",
        ),
        (
            "[[policy.rule]]\ndo = \"deny\"\ntool = \"a\"\nwhy = \"x\"",
            "/p/tollgate.toml:4:1: `why` is no key of [[policy.rule]]",
            "",
        ),
        (
            "[[policy.rule]]\ndo = \"deny\"\ncommand = \"a\"\npath = \"b\"",
            "/p/tollgate.toml:1:1: this rule speaks of more than one",
            "",
        ),
        (
            "[[policy.rule]]\ndo = \"deny\"\ntool = \"a\"\nargs = {n = {min = \"x\"}}",
            "/p/tollgate.toml:4:20: `min` must be a number",
            "",
        ),
        (
            "[[policy.rule]]\ndo = \"deny\"\ntool = \"a\"\nargs = {n = {regx = \"x\"}}",
            "/p/tollgate.toml:4:14: `regx` is no key",
            "did you mean `regex`?",
        ),
        (
            "[[policy.rule]]\ndo = \"deny\"\ntool = \"shell(git push *)\"\nmatches = [\"git pull\"]",
            "/p/tollgate.toml:4:12: the rule `shell(git push *)` does not mean \"git pull\", against what `matches` says",
            "change the rule or the example",
        ),
        (
            "[[policy.rule]]\ndo = \"deny\"\ntool = \"shell(git *)\"\nmisses = [\n  \"git pull\"]",
            "/p/tollgate.toml:5:3: the rule `shell(git *)` means \"git pull\", against what `misses` says",
            "",
        ),
    ];
    for (text, message, hint) in cases {
        let (said, way_on) = fault(text);
        assert!(said.starts_with(message), "{text}\n  said   {said}\n  wanted {message}");
        assert!(way_on.starts_with(hint) && !way_on.is_empty(), "{text}\n  hint {way_on}");
    }
}

#[test]
fn the_long_form_says_what_the_short_one_says_and_more() {
    let file = parse(
        r#"
[policy]
allow = ["grep"]
[[policy.rule]]
do = "deny"
tool = "shell(terraform apply *)"
reason = "Use `terraform plan`."
matches = ["terraform apply -auto-approve", "terraform -chdir=x apply"]
misses = ["terraform plan"]
[[policy.rule]]
do = "ask"
always = true
tool = "pay"
args = { amount = { min = 10 }, to = { one_of = ["a", "b"] }, "/meta/url" = { host = ["*.x.org"] } }
matches = [{ amount = 11, to = "a", meta = { url = "https://a.x.org/" } }]
misses = [{ amount = 9, to = "a", meta = { url = "https://a.x.org/" } }, { amount = 11, to = "a" }]
[[policy.rule]]
do = "allow"
path = "./docs/**"
access = "write"
matches = ["docs/a.md", "./docs/x/b.md"]
misses = ["docs", "src/a.rs"]
[[policy.rule]]
do = "deny"
tool = "@evil"
caller = "sub-*"
matches = ["@evil/anything"]
misses = ["grep"]
[hook]
"#,
    )
    .unwrap();
    let told: Vec<_> = file
        .rules()
        .iter()
        .map(|rule| (rule.reference().text.to_string(), rule.source().to_owned()))
        .collect();
    let told: Vec<_> = told.iter().map(|(text, source)| (text.as_str(), source.as_str())).collect();
    assert_eq!(
        told,
        [
            ("allow grep", "/p/tollgate.toml:3"),
            ("deny shell(terraform apply *)", "/p/tollgate.toml:4"),
            (
                "ask always pay {amount = { min = 10 }, to = { one_of = [\"a\", \"b\"] }, /meta/url = { host = [\"*.x.org\"] }}",
                "/p/tollgate.toml:10"
            ),
            ("allow write(./docs/**)", "/p/tollgate.toml:17"),
            ("deny @evil {caller = \"sub-*\"}", "/p/tollgate.toml:23"),
        ]
    );
    assert_eq!(file.rules()[1].reason(), Some("Use `terraform plan`."));
    assert!(file.section("hook").is_some());
}

/// A folder with a home, a project, and a working folder in it.
struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        let place = Self { folder: tempfile::tempdir().unwrap() };
        for folder in ["home", "etc", "project/sub"] {
            fs::create_dir_all(place.path(folder)).unwrap();
        }
        place
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.folder.path().canonicalize().unwrap().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    fn sources(&self) -> Sources {
        Sources {
            managed: Some(self.path("etc/tollgate.toml")),
            user: Some(self.path("home/tollgate.toml")),
            working: Some(self.path("project/sub")),
            trust: Some(self.path("home/trust.json")),
            home: Some(self.path("home")),
            sections: Vec::new(),
        }
    }

    fn policy(&self) -> Layers {
        let sources = self.sources();
        let rules = sources.load().unwrap().rules;
        Layers::with(rules, sources.home.clone(), Some(Box::new(sources.keeper())))
    }

    fn trust(&self) {
        let store = TrustStore::new(self.path("home/trust.json"));
        store.trust(&self.path("project/tollgate.toml"), &self.read("project/tollgate.toml")).unwrap();
    }

    fn decide(&self, policy: &Layers, effects: &Effects) -> Decision {
        let tool = ToolSpec::new("some_tool", "", json!({})).unwrap();
        let scope = Scope::new(Run::new("files"), Workspace::new(self.path("project/sub")));
        policy.decide(&Query::new(&tool, &json!({}), effects, &scope)).decision
    }
}

#[test]
fn a_project_widens_nothing_until_its_exact_content_is_trusted_and_tightens_at_once() {
    let place = Place::new();
    place.write(
        "project/tollgate.toml",
        "[policy]\nallow = [\"read(./**)\"]\ngranted = [\"grep\"]\ndeny = [\"read(**/x)\"]\n",
    );
    let [a, x] = ["a", "x"].map(|name| Effects::reading().reads(name));
    let look = || {
        let loaded = place.sources().load().unwrap();
        let policy = place.policy();
        (loaded.files[0].trust, loaded.inert.len(), place.decide(&policy, &a), place.decide(&policy, &x))
    };
    assert_eq!(look(), (Trust::Never, 2, Decision::Ask, Decision::Deny));
    place.trust();
    assert_eq!(look(), (Trust::Trusted, 0, Decision::Allow, Decision::Deny));
    place.write("project/tollgate.toml", "[policy]\nallow = [\"read(./**)\", \"*\"]\n");
    assert_eq!(look(), (Trust::Changed, 2, Decision::Ask, Decision::Ask));
}

#[test]
fn files_of_all_layers_and_of_folders_above_count_and_a_bad_one_stops_everything() {
    let place = Place::new();
    place.write("etc/tollgate.toml", "[policy]\ndeny = [\"a\"]");
    place.write("home/tollgate.toml", "[policy]\nallow = [\"b\"]");
    place.write("project/tollgate.toml", "[policy]\ndeny = [\"c\"]");
    place.write("project/sub/tollgate.toml", "[policy]\nask = [\"d\"]");
    let loaded = place.sources().load().unwrap();
    let layers: Vec<_> = loaded.rules.iter().map(|rule| (rule.layer(), rule.text().to_owned())).collect();
    let wanted = [(Layer::Managed, "a"), (Layer::User, "b"), (Layer::Project, "c"), (Layer::Project, "d")];
    assert_eq!(layers, wanted.map(|(layer, text)| (layer, text.to_owned())));
    place.write("project/tollgate.toml", "[policy]\ndeny = [");
    let bad = place.sources().load().unwrap_err();
    assert_eq!((bad.file, bad.place.map(|place| place.0)), (place.path("project/tollgate.toml"), Some(2)));
}

#[test]
fn a_file_that_cannot_be_read_stops_everything() {
    let place = Place::new();
    place.write("home/tollgate.toml", "[policy]\n");
    fs::set_permissions(place.path("home/tollgate.toml"), fs::Permissions::from_mode(0o000)).unwrap();
    if fs::File::open(place.path("home/tollgate.toml")).is_ok() {
        // Whoever may read everything cannot be refused: a folder in its place cannot be read by anybody.
        println!("runs as root: a folder stands for the unreadable file");
        fs::remove_file(place.path("home/tollgate.toml")).unwrap();
        fs::create_dir(place.path("home/tollgate.toml")).unwrap();
    }
    let bad = place.sources().load().unwrap_err();
    assert_eq!((bad.place, &bad.file), (None, &place.path("home/tollgate.toml")));
    assert!(bad.message.starts_with("it cannot be read: "), "{bad}");
    fs::remove_dir(place.path("home/tollgate.toml")).ok();
    fs::write(place.path("etc/tollgate.toml"), b"\xff\xfe").unwrap();
    assert_eq!(place.sources().load().unwrap_err().message, "it is not UTF-8 text, at byte 0");
}

fn command(text: &str) -> Effects {
    Effects::worst().touching(Resource::Command { command: text.split(' ').map(str::to_owned).collect() })
}

fn grant(rule: &str, lifetime: Lifetime) -> Grant {
    Grant { rules: vec![rule.to_owned()], lifetime }
}

const KEPT: &str = "# mine\n[policy] # here\nask = [\"shell(cargo *)\"] # often\ngranted = [\n    # tests\n    \"shell(cargo test *)\",\n]\n\n# the end\n";

#[test]
fn what_is_granted_for_good_is_written_down_with_everything_else_kept() {
    let place = Place::new();
    place.write("home/tollgate.toml", KEPT);
    let policy = place.policy();
    assert_eq!(place.decide(&policy, &command("cargo build")), Decision::Ask);
    let refs = policy.grants().give(Stance::Grant, &grant("shell(cargo build *)", Lifetime::User)).unwrap();
    assert_eq!(&*refs[0].source, format!("{}:7", place.path("home/tollgate.toml").display()));
    assert_eq!(place.decide(&policy, &command("cargo build")), Decision::Allow);
    let wanted = KEPT
        .replace("\"shell(cargo test *)\",\n", "\"shell(cargo test *)\",\n    \"shell(cargo build *)\",\n");
    assert_eq!(place.read("home/tollgate.toml"), wanted);
    assert_eq!(
        place.decide(&place.policy(), &command("cargo build")),
        Decision::Allow,
        "it holds in the next run too"
    );
    policy.grants().give(Stance::Deny, &grant("shell(cargo install *)", Lifetime::User)).unwrap();
    assert_eq!(place.decide(&place.policy(), &command("cargo install x")), Decision::Deny);
    assert!(place.read("home/tollgate.toml").contains("# often\n"), "{}", place.read("home/tollgate.toml"));
}

#[test]
fn a_grant_for_a_person_names_the_folder_it_was_given_in_and_reaches_no_other() {
    let place = Place::new();
    let policy = place.policy();
    for rule in ["write(./gen/**)", "tool:edit(path in .)", "tool:edit(path in ./src, only)"] {
        policy.grants().give(Stance::Grant, &grant(rule, Lifetime::User)).unwrap();
    }
    let (text, here) = (place.read("home/tollgate.toml"), place.sources().working.unwrap());
    for rule in ["write({}/gen/**)", "tool:edit(path in {})", "tool:edit(path in {}/src, only)"] {
        let rule = rule.replace("{}", &here.display().to_string());
        assert!(text.contains(&rule), "{rule}\n{text}");
    }
    assert!(!text.contains("./"), "{text}");
    assert!(text.starts_with("# Rules of Tollgate"), "{text}");
}

#[test]
fn a_grant_for_a_project_is_written_where_its_folder_counts_and_stays_trusted() {
    let place = Place::new();
    place.write("project/tollgate.toml", "[policy]\nask = [\"write(./**)\"]\n");
    place.trust();
    let policy = place.policy();
    policy.grants().give(Stance::Grant, &grant("write(./gen/**)", Lifetime::Project)).unwrap();
    let text = place.read("project/tollgate.toml");
    assert!(text.contains("\"write(./sub/gen/**)\""), "{text}");
    for policy in [policy, place.policy()] {
        assert_eq!(place.decide(&policy, &Effects::writing().writes("gen/a")), Decision::Allow);
        assert_eq!(place.decide(&policy, &Effects::writing().writes("a")), Decision::Ask);
    }
}

#[test]
fn nothing_is_granted_into_a_project_file_that_nobody_trusts() {
    let place = Place::new();
    let untrusted = "[policy]\nallow = [\"*\"]\n";
    place.write("project/tollgate.toml", untrusted);
    let policy = place.policy();
    let given = policy.grants().give(Stance::Grant, &grant("grep", Lifetime::Project));
    assert!(matches!(&given, Err(NotGranted::NotKept(why)) if why.contains("tollgate trust")), "{given:?}");
    assert_eq!(place.read("project/tollgate.toml"), untrusted);
    assert_eq!(policy.grants().list().len(), 1, "it holds for the session");
    // Where there is no file yet, the one that is made is the person's own word.
    let place = Place::new();
    place.policy().grants().give(Stance::Grant, &grant("read(./**)", Lifetime::Project)).unwrap();
    assert_eq!(place.sources().load().unwrap().files[0].trust, Trust::Trusted);
    assert_eq!(place.decide(&place.policy(), &Effects::reading().reads("a")), Decision::Allow);
}

#[test]
fn a_grant_that_is_no_rule_changes_nothing() {
    let place = Place::new();
    let policy = place.policy();
    let two = Grant { rules: vec!["grep".to_owned(), "gr ep".to_owned()], lifetime: Lifetime::User };
    assert!(matches!(policy.grants().give(Stance::Grant, &two), Err(NotGranted::BadRule { .. })));
    assert!(policy.grants().list().is_empty() && !place.path("home/tollgate.toml").exists());
}

#[test]
fn answers_given_at_the_same_time_are_all_written_down() {
    let place = Place::new();
    place.write("project/tollgate.toml", "[policy]\nask = [\"write(./**)\"]\n");
    place.trust();
    std::thread::scope(|scope| {
        for at in 0..16 {
            let place = &place;
            scope.spawn(move || {
                let rule = grant(&format!("write(./gen{at}/**)"), Lifetime::Project);
                place.policy().grants().give(Stance::Grant, &rule).unwrap();
            });
        }
    });
    let loaded = place.sources().load().unwrap();
    assert_eq!(loaded.files[0].trust, Trust::Trusted);
    assert_eq!(place.read("project/tollgate.toml").matches("write(./sub/gen").count(), 16);
}
