//! The level of this machine, found by running a canary in each: what is installed is not what works.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use tokio_util::sync::CancellationToken;

use super::{
    Confined, Found, Kept, Level, Signals, Walls,
    bubble::{self, Bubble},
    ruled::{Ruled, Survivors},
    rules,
};
use crate::process::{Ended, Environment, How, Launch, Wrapper};

/// No canary takes longer.
const PATIENCE: Duration = Duration::from_secs(5);

/// Tries every level from the best down.
pub(super) fn probe(inner: Option<PathBuf>) -> Found {
    apart(move || levels(inner)).unwrap_or_else(|| Found {
        level: Level::L1,
        missing: vec!["The sandbox could not be tried.".to_owned()],
        signals: None,
        inner: false,
    })
}

/// Whether L2 keeps a command's signals among its own processes.
pub(super) fn signals() -> Signals {
    apart(|| canary(Level::L2, None)).and_then(Result::ok).unwrap_or(Signals::Open)
}

/// On a thread and a runtime of its own: whoever asks may be inside one already.
fn apart<T: Send + 'static, F: Future<Output = T>>(work: impl FnOnce() -> F + Send + 'static) -> Option<T> {
    let tried = std::thread::Builder::new().name("tollgate-probe".to_owned()).spawn(|| {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.map(|runtime| runtime.block_on(work()))
    });
    tried.ok().and_then(|thread| thread.join().ok()).and_then(Result::ok)
}

async fn levels(inner: Option<PathBuf>) -> Found {
    let mut missing = Vec::new();
    if inner.is_some() {
        match canary(Level::L3, inner.as_deref()).await {
            Ok(_) => return Found { level: Level::L3, missing, signals: None, inner: true },
            Err(why) => missing.push(format!("Landlock does not hold inside the bubble: {why}")),
        }
    }
    match canary(Level::L3, None).await {
        Ok(_) => return Found { level: Level::L3, missing, signals: None, inner: false },
        Err(why) => {
            missing.clear();
            missing.push(format!("{why} Install bubblewrap, or let it make user namespaces, for L3."));
        }
    }
    match canary(Level::L2, None).await {
        Ok(signals) => {
            if signals == Signals::Open {
                missing.push(
                    "A process that leaves its group outlives its command; a kernel of 6.12 or later ends it."
                        .to_owned(),
                );
            }
            Found { level: Level::L2, missing, signals: Some(signals), inner: false }
        }
        Err(why) => {
            missing.push(format!("{why} A kernel of 6.2 or later with Landlock gives L2."));
            Found { level: Level::L1, missing, signals: None, inner: false }
        }
    }
}

/// Runs a command that tries to write and to signal where it must not, and says whether it was held and could do its
/// own work.
async fn canary(level: Level, inner: Option<&Path>) -> Result<Signals, String> {
    if level == Level::L3 && bubble::program().is_none() {
        return Err("bubblewrap is not installed.".to_owned());
    }
    let folder = Folder::make().map_err(|error| format!("No folder for a canary: {error}."))?;
    let outside = folder.0.join("outside");
    let root = folder.0.join("root");
    for made in [&outside, &root] {
        std::fs::create_dir(made).map_err(|error| format!("No folder for a canary: {error}."))?;
    }
    let walls = Walls::around(vec![root.clone()], Confined::Writing);
    let wrapper: std::io::Result<Arc<dyn Wrapper>> = match level {
        Level::L3 => Bubble::new(walls, inner).map(|bubble| Arc::new(bubble) as _),
        _ => Ruled::new(&walls, &Kept::default(), Survivors::Stay).map(|ruled| Arc::new(ruled) as _),
    };
    let wrapper =
        wrapper.map_err(|error| format!("The {} sandbox cannot be made: {error}.", level.name()))?;
    let script =
        "echo in > in || exit 3; echo out > ../outside/out; kill -0 $PPID 2>/dev/null && exit 9; exit 0";
    let environment = Environment::empty().with("PATH", "/usr/bin:/bin");
    let launch = Launch::new("sh", ["-c", script])
        .folder(&root)
        .environment(environment)
        .wrapper(wrapper)
        .within(PATIENCE);
    let ended = launch.run(&CancellationToken::new()).await;
    let ended = ended.map_err(|error| format!("A command in the {} sandbox: {error}.", level.name()))?;
    held(level, &ended, outside.join("out").exists())
}

fn held(level: Level, ended: &Ended, escaped: bool) -> Result<Signals, String> {
    let name = level.name();
    match ended.how {
        _ if escaped => Err(format!("The {name} sandbox let a command write outside.")),
        // Both must say so: the kernel, that it has the rule, and the canary, that the rule holds.
        How::Code(0) if rules::keeps_signals() => Ok(Signals::Kept),
        How::Code(0 | 9) => Ok(Signals::Open),
        _ => {
            let said = ended.stderr.text();
            let line = said.lines().next().unwrap_or("it said nothing").to_owned();
            Err(format!("A command in the {name} sandbox failed: {line}."))
        }
    }
}

struct Folder(PathBuf);

impl Folder {
    fn make() -> std::io::Result<Self> {
        let now = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default().as_nanos();
        // Beside, not below, what every bubble has of its own.
        let places = [std::env::temp_dir(), PathBuf::from("/var/tmp")];
        let mut last = std::io::Error::other("no folder for temporary files");
        for place in places {
            let folder = place.join(format!("tollgate-canary-{}-{now:x}", std::process::id()));
            match std::fs::create_dir(&folder) {
                Ok(()) => return Ok(Self(folder)),
                Err(error) => last = error,
            }
        }
        Err(last)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
