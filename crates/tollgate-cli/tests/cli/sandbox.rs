use serde_json::{Value, json};

use crate::skipped::skipped;
use crate::world::{Ran, World};

/// The level this machine has for commands.
fn shell(world: &World, line: &str, more: &[&str]) -> Ran {
    let input = json!({"command": line}).to_string();
    let mut command = world.command(&[&["call", "shell", &input], more].concat());
    command.env("PATH", "/usr/bin:/bin").output().unwrap().into()
}

fn said(ran: &Ran) -> String {
    let told = ran.json();
    let texts = told["output"].as_array().into_iter().flatten().filter_map(|one| one["text"].as_str());
    texts.collect()
}

/// A project in a home of somebody else's: our own folders lie outside it.
fn project(config: &str) -> World {
    let world = World::new();
    std::fs::create_dir(world.path().join("p")).unwrap();
    world.file("p/tollgate.toml", config);
    world
}

fn inside<'a>(args: &[&'a str]) -> Vec<&'a str> {
    [args, &["--root", "p"]].concat()
}

#[test]
fn a_required_level_stands_in_a_file_or_in_the_environment_and_the_strictest_counts() {
    let world = World::new();
    if world.level() != "L3" {
        skipped("what is required must be there to see which one counts");
        return;
    }
    for (text, variable, expected) in
        [("L1", None, "L1"), ("l2", None, "L2"), ("L1", Some("L3"), "L3"), ("L3", Some("L2"), "L3")]
    {
        world.file("tollgate.toml", format!("[sandbox]\nrequired = \"{text}\"\n"));
        let mut command = world.command(&["doctor", "--json"]);
        if let Some(level) = variable {
            command.env("TOLLGATE_SANDBOX_REQUIRED", level);
        }
        let ran: Ran = command.output().unwrap().into();
        assert_eq!(ran.json()["sandbox"]["required"], expected, "{ran:?}");
    }
}

#[test]
fn a_section_that_is_not_understood_stops_everything_with_its_place() {
    let world = World::new();
    for (text, place) in
        [("required = \"L7\"", "tollgate.toml:2:12"), ("networks = true", "tollgate.toml:2:1")]
    {
        world.file("tollgate.toml", format!("[sandbox]\n{text}\n"));
        let ran = shell(&world, "true", &[]);
        assert_eq!(ran.code, Some(2), "{ran:?}");
        assert!(ran.err.contains(place) && ran.err.contains("hint:"), "{ran:?}");
        assert_eq!(world.run(&["doctor"]).code, Some(1));
    }
}

#[test]
fn what_a_project_would_open_stays_closed_until_it_is_trusted_and_is_shown_then() {
    let world = project("[sandbox]\nnetwork = true\nreadable = [\"/etc/shadow\"]\nenvironment = [\"CI\"]\n");
    let doctor = || world.run(&inside(&["doctor", "--json"])).json();
    let before = doctor();
    assert_eq!((&before["sandbox"]["network"], before["sandbox"].get("readable")), (&json!("closed"), None));
    assert!(before["advice"].to_string().contains("would open in the sandbox"), "{before}");
    let ran = world.run(&["trust", "p/tollgate.toml"]);
    for word in ["the network", "/etc/shadow for reading", "the variable CI"] {
        assert!(ran.out.contains(word), "{word}: {ran:?}");
    }
    let after = doctor();
    assert_ne!(after["sandbox"]["network"], "closed");
    assert_eq!(after["sandbox"]["readable"], json!(["/etc/shadow"]));
}

#[test]
fn places_and_variables_of_a_trusted_file_reach_commands() {
    let world = project("");
    if world.level() == "L1" {
        skipped("nothing holds commands here");
        return;
    }
    // Not below /tmp: that is a folder of the bubble's own.
    let beside = tempfile::Builder::new().prefix("tollgate-beside").tempdir_in("/var/tmp").unwrap();
    let place = beside.path().canonicalize().unwrap();
    std::fs::write(place.join("old"), "old\n").unwrap();
    let line = format!("cat '{0}'/old; echo new > '{0}'/new; echo \"is $CI\"", place.display());
    let script = world.file("p/try.sh", &line);
    assert!(script.exists());
    let tried = |more: &[&str]| {
        let args = ["call", "shell", r#"{"command":"bash try.sh"}"#, "--allow", "shell"];
        let mut command = world.command(&inside(&[&args[..], more].concat()));
        Ran::from(command.env("PATH", "/usr/bin:/bin").env("CI", "yes").output().unwrap())
    };
    let closed = said(&tried(&[]));
    assert!(!closed.contains("old\n") && closed.contains("is \n"), "{closed}");
    let config = format!("[sandbox]\nwritable = [\"{}\"]\nenvironment = [\"CI\"]\n", place.display());
    world.file("p/tollgate.toml", config);
    world.run(&["trust", "p/tollgate.toml"]);
    let open = said(&tried(&[]));
    assert!(open.contains("old\n") && open.contains("is yes\n"), "{open}");
    assert_eq!(std::fs::read_to_string(place.join("new")).unwrap(), "new\n");
}

#[test]
fn a_command_reads_a_folder_without_what_rules_and_names_keep_from_being_read() {
    let world = project("[policy]\ndeny = [\"read(secrets/**)\"]\n");
    if world.level() == "L1" {
        skipped("nothing holds commands here");
        return;
    }
    std::fs::create_dir(world.path().join("p/secrets")).unwrap();
    for (name, word) in [("p/a", "plain\n"), ("p/.env", "asked\n"), ("p/secrets/x", "hushed\n")] {
        world.file(name, word);
    }
    for line in ["grep -rh . .", "cat * .e*"] {
        let ran = shell(&world, line, &["--root", "p"]);
        let (text, notes) = (said(&ran), ran.json()["notes"].to_string());
        assert!(text.contains("plain") && !text.contains("asked") && !text.contains("hushed"), "{ran:?}");
        assert!(notes.contains(".env") && notes.contains("secrets"), "{ran:?}");
    }
    let named = shell(&world, "cat secrets/x", &["--root", "p", "--json"]);
    assert_eq!(named.status(), ("refused".to_owned(), "denied".to_owned()));
    let asks = shell(&world, "cat .env", &["--root", "p", "--json"]);
    assert_eq!(asks.status(), ("refused".to_owned(), "approval_required".to_owned()));
}

#[test]
fn inside_the_bubble_landlock_holds_as_well() {
    let world = project("");
    let found: Value = world.run(&["doctor", "--json"]).json();
    if found["sandbox"]["level"] != "L3" {
        skipped(format_args!("no L3 here: {}", found["sandbox"]["missing"]));
        return;
    }
    assert!(found["sandbox"]["holds"].as_str().unwrap().contains("Landlock"), "{found}");
    // The top of a bubble is its own and could be written: what refuses is not the mount.
    world.file("p/try.sh", "echo x > /made && echo MADE; echo x > made && echo inside");
    let ran = shell(&world, "bash try.sh", &["--root", "p", "--allow", "shell"]);
    assert!(said(&ran).contains("Permission denied") && said(&ran).contains("inside\n"), "{ran:?}");
    let ran = world.run(&["__confine", "writing", "ajar"]);
    assert_eq!(ran.code, Some(126), "{ran:?}");
}

#[test]
fn our_own_folders_are_kept_from_commands_where_the_home_folder_is_a_root() {
    let world = World::new();
    if world.level() != "L3" {
        skipped("no L3 here");
        return;
    }
    let approvals = world.path().join(".local/share/tollgate/approvals");
    std::fs::create_dir_all(&approvals).unwrap();
    world.file("try.sh", "d=.local/share/toll; ls -A ${d}gate; echo yes > ${d}gate/approvals/x; echo end");
    let ran = shell(&world, "bash try.sh", &["--allow", "shell"]);
    assert!(!said(&ran).contains("approvals\n") && said(&ran).contains("end\n"), "{ran:?}");
    assert!(!approvals.join("x").exists());
}

/// Waits until the command has made this file.
fn until_made(world: &World, name: &str) {
    let until = std::time::Instant::now() + std::time::Duration::from_secs(20);
    while !world.path().join(name).exists() {
        assert!(std::time::Instant::now() < until, "the command does not begin");
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
}

/// What lies in the project beside what the test made and our own home.
fn left(world: &World) -> Vec<String> {
    let names = std::fs::read_dir(world.path()).unwrap().map(|entry| entry.unwrap().file_name());
    let mut names: Vec<_> = names.map(|name| name.into_string().unwrap()).collect();
    names.retain(|name| ![".local", ".config", ".cache", "made"].contains(&name.as_str()));
    names.sort();
    names
}

fn sent(child: &std::process::Child, signal: rustix::process::Signal) {
    let pid = rustix::process::Pid::from_child(child);
    rustix::process::kill_process(pid, signal).unwrap();
}

#[test]
fn term_and_hup_end_a_call_as_ctrl_c_does_and_nothing_of_ours_stays_in_the_project() {
    use rustix::process::Signal;
    // Below that a command that writes where our own folders lie asks.
    if World::new().level() != "L3" {
        skipped("commands that are told to end: no L3 here");
        return;
    }
    for signal in [Signal::TERM, Signal::HUP, Signal::INT] {
        let world = World::new();
        let line = r#"{"command":"touch made; sleep 30"}"#;
        // Whoever started the tests may ignore HUP, as `nohup` does, and that would be left to the program.
        let mut command = std::process::Command::new("/usr/bin/env");
        command.arg("--default-signal=HUP").arg(env!("CARGO_BIN_EXE_tollgate"));
        command.args(["call", "shell", line, "--allow", "shell", "--json"]);
        command.current_dir(world.path()).env_clear().env("HOME", world.path());
        command.stdin(std::process::Stdio::null());
        command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
        let child = command.env("PATH", "/usr/local/bin:/usr/bin:/bin").spawn().unwrap();
        until_made(&world, "made");
        let began = std::time::Instant::now();
        sent(&child, signal);
        let ran = crate::world::Ran::from(child.wait_with_output().unwrap());
        assert!(began.elapsed().as_secs() < 10, "{signal:?}: it waited for the command");
        assert_eq!(ran.code, Some(130), "{signal:?}: {ran:?}");
        assert_eq!(ran.json()["status"], "unknown", "{signal:?}: {ran:?}");
        assert_eq!(left(&world), Vec::<String>::new(), "{signal:?}");
    }
}

#[test]
fn what_a_killed_command_left_in_the_project_is_gone_when_the_program_starts_again() {
    let world = World::new();
    if world.level() != "L3" {
        skipped("what a killed command left: no L3 here");
        return;
    }
    let kill = || {
        let line = r#"{"command":"touch made; sleep 30"}"#;
        let mut command = world.command(&["call", "shell", line, "--allow", "shell"]);
        let mut child = command.env("PATH", "/usr/local/bin:/usr/bin:/bin").spawn().unwrap();
        until_made(&world, "made");
        child.kill().unwrap();
        child.wait().unwrap();
        std::fs::remove_file(world.path().join("made")).unwrap();
    };
    kill();
    // Twice: the second one finds what the first one left.
    kill();
    assert_eq!(world.run(&["explain", "shell", r#"{"command":"true"}"#]).code, Some(0));
    assert_eq!(left(&world), Vec::<String>::new());
}
