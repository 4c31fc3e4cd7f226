//! A person at a real pseudo-terminal: sees the screen, presses keys.

use std::{
    fs::File,
    io::{Read as _, Write as _},
    process::{Child, Command, Stdio},
    sync::{Arc, Condvar, Mutex},
    time::{Duration, Instant},
};

use process_wrap::std::{CommandWrap, CommandWrapper as _, ProcessSession};
use rustix::{
    pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt},
    termios::{Winsize, tcgetattr, tcsetwinsize},
};

use crate::world::World;

/// The program on a terminal of its own, and whoever sits there.
pub(crate) struct Person {
    ours: File,
    child: Child,
    screen: Arc<(Mutex<Screen>, Condvar)>,
    read: usize,
    modes: String,
}

#[derive(Default)]
struct Screen {
    text: String,
    closed: bool,
}

/// What came of it.
#[derive(Debug)]
pub(crate) struct Left {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) screen: String,
    /// True when the terminal is as it was before.
    pub(crate) restored: bool,
}

/// How somebody sits at the terminal.
#[derive(Clone)]
pub(crate) struct Seat<'a> {
    pub(crate) columns: u16,
    pub(crate) env: Vec<(&'a str, String)>,
    /// The program's stdout is the terminal too.
    pub(crate) whole: bool,
    /// What stdin holds instead of keys.
    pub(crate) stdin: Option<&'a str>,
    /// Keys that are pressed before the program starts.
    pub(crate) early: &'a str,
}

impl Default for Seat<'_> {
    fn default() -> Self {
        let env = vec![("TERM", "xterm".to_owned())];
        Self { columns: 200, env, whole: false, stdin: None, early: "" }
    }
}

const PATIENCE: Duration = Duration::from_secs(20);

impl Person {
    /// Starts the program with the terminal as its stderr and stdin, its stdout apart.
    pub(crate) fn at(world: &World, args: &[&str]) -> Self {
        Self::start(world, args, None, "")
    }

    /// The same, with these bytes on stdin instead, and these keys pressed before it starts.
    pub(crate) fn start(world: &World, args: &[&str], stdin: Option<&str>, early: &str) -> Self {
        Self::seated(world, args, &Seat { stdin, early, ..Seat::default() })
    }

    /// The same, on any seat.
    pub(crate) fn seated(world: &World, args: &[&str], seat: &Seat<'_>) -> Self {
        let Seat { columns, env, whole, stdin, early } = seat;
        let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
        grantpt(&ours).unwrap();
        unlockpt(&ours).unwrap();
        let theirs = ptsname(&ours, Vec::new()).unwrap().into_string().unwrap();
        let ours = File::from(ours);
        tcsetwinsize(&ours, Winsize { ws_row: 50, ws_col: *columns, ws_xpixel: 0, ws_ypixel: 0 }).unwrap();
        (&ours).write_all(early.as_bytes()).unwrap();
        let modes = modes(&ours);
        // Whoever leads a session and opens a terminal has it: so the shell gets it, and the program after it.
        let script = match (stdin, whole) {
            (None, false) => r#"tty=$1; shift; exec "$@" <"$tty" 2>"$tty""#,
            (None, true) => r#"tty=$1; shift; exec "$@" <"$tty" >"$tty" 2>"$tty""#,
            (Some(_), _) => r#"tty=$1; shift; exec 3<"$tty"; exec "$@" 2>"$tty" 3<&-"#,
        };
        // Whoever started the tests may ignore HUP, as `nohup` does; a terminal's own programs do not.
        let mut command = Command::new("env");
        command.args(["--default-signal=HUP", "sh"]);
        command.args(["-c", script, "sh", &theirs, env!("CARGO_BIN_EXE_tollgate")]).args(args);
        command.current_dir(world.path()).env_clear().env("HOME", world.path());
        command
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .envs(env.iter().map(|(name, value)| (name, value)));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        ProcessSession.pre_spawn(&mut command, &CommandWrap::from(Command::new(""))).unwrap();
        let mut child = command.spawn().unwrap();
        child.stdin.take().unwrap().write_all(stdin.unwrap_or_default().as_bytes()).unwrap();
        let screen = Arc::new((Mutex::<Screen>::default(), Condvar::new()));
        let (shared, mut source) = (screen.clone(), ours.try_clone().unwrap());
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            loop {
                let read = source.read(&mut bytes);
                let mut screen = shared.0.lock().unwrap();
                match read {
                    Ok(length @ 1..) => screen.text.push_str(&String::from_utf8_lossy(&bytes[..length])),
                    // The last program has left the terminal.
                    _ => screen.closed = true,
                }
                shared.1.notify_all();
                if screen.closed {
                    return;
                }
            }
        });
        Self { ours, child, screen, read: 0, modes }
    }

    /// Waits until this stands on the screen, below what was read before.
    pub(crate) fn sees(&mut self, text: &str) -> &mut Self {
        let until = Instant::now() + PATIENCE;
        let mut screen = self.screen.0.lock().unwrap();
        loop {
            let shown = plain(&screen.text);
            if let Some(at) = shown[self.read..].find(text) {
                self.read += at + text.len();
                break;
            }
            let left = until.saturating_duration_since(Instant::now());
            assert!(
                !left.is_zero() && !screen.closed,
                "{text:?} is not to be seen in\n{}",
                &shown[self.read..]
            );
            screen = self.screen.1.wait_timeout(screen, left).unwrap().0;
        }
        drop(screen);
        self
    }

    pub(crate) fn presses(&mut self, keys: &str) -> &mut Self {
        self.ours.write_all(keys.as_bytes()).unwrap();
        self
    }

    /// Makes the window this wide.
    pub(crate) fn resizes(&mut self, columns: u16) -> &mut Self {
        let size = Winsize { ws_row: 50, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&self.ours, size).unwrap();
        self
    }

    /// Sends the program a signal.
    pub(crate) fn signals(&mut self, signal: rustix::process::Signal) -> &mut Self {
        rustix::process::kill_process(rustix::process::Pid::from_child(&self.child), signal).unwrap();
        self
    }

    /// Ends the program as nothing can be prepared for.
    pub(crate) fn kills(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Everything that was on screen so far.
    pub(crate) fn screen(&self) -> String {
        self.screen.0.lock().unwrap().text.clone()
    }

    /// Waits for the program's end.
    pub(crate) fn leaves(mut self) -> Left {
        let mut stdout = self.child.stdout.take().unwrap();
        let out = std::thread::spawn(move || {
            let mut out = String::new();
            stdout.read_to_string(&mut out).map(|_| out)
        });
        let until = Instant::now() + PATIENCE;
        while self.child.try_wait().unwrap().is_none() {
            let seen = plain(&self.screen.0.lock().unwrap().text)[self.read..].to_owned();
            assert!(Instant::now() < until, "it does not end, and shows\n{seen}");
            std::thread::sleep(Duration::from_millis(10));
        }
        let code = self.child.wait().unwrap().code();
        let out = out.join().unwrap().unwrap();
        let restored = modes(&self.ours) == self.modes;
        // What was written last is on its way.
        let (screen, wait) = (&self.screen.0, Duration::from_secs(2));
        drop(
            self.screen.1.wait_timeout_while(screen.lock().unwrap(), wait, |screen| !screen.closed).unwrap(),
        );
        let screen = self.screen.0.lock().unwrap().text.replace("\r\n", "\n");
        Left { code, out, screen, restored }
    }
}

impl Drop for Person {
    fn drop(&mut self) {
        // Whatever failed: the program does not outlive its person.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What is shown, without the sequences that say how and where.
pub(crate) fn plain(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        if c == '\x1b' {
            // An unfinished one at the end is as good as whole.
            if chars.next() == Some('[') {
                chars.by_ref().find(|c| ('@'..='~').contains(c));
            }
        } else {
            shown.push(c);
        }
    }
    shown
}

fn modes(terminal: &File) -> String {
    let modes = tcgetattr(terminal).unwrap();
    format!("{:?} {:?}", modes.local_modes, modes.input_modes)
}
