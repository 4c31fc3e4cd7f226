//! Servers that are started inside the sandbox of commands: the roots, and the network only where their entry opens it.

use std::{ffi::OsString, io, path::PathBuf, sync::Arc};

use tollgate::{
    BoxFuture,
    launch::{Launcher, Program, Started},
};
use tollgate_mcp::{
    ServerConfig,
    config::{Confinement, Endpoint},
};
use tollgate_tools::{
    process::{HostLauncher, Leash, Stacked, Wrapper},
    sandbox::{Confined, Hidden, Level, Sandbox, SandboxConfig},
};

/// What holds the servers that are to be held.
pub(crate) struct Holding {
    sandbox: Sandbox,
    places: SandboxConfig,
    roots: Vec<PathBuf>,
    own: Vec<PathBuf>,
    variables: Arc<[(OsString, OsString)]>,
    program: PathBuf,
}

impl Holding {
    /// The sandbox of commands, for servers. The network is opened by a server's own entry and nothing else.
    pub(crate) fn new(
        asked: &SandboxConfig,
        roots: &[PathBuf],
        own: Vec<PathBuf>,
        variables: impl IntoIterator<Item = (OsString, OsString)>,
        program: PathBuf,
    ) -> Self {
        let places = SandboxConfig { network: None, ..asked.clone() };
        let sandbox = places.clone().applied(Sandbox::probed()).with_inner(program.clone());
        Self {
            sandbox,
            places,
            roots: roots.to_vec(),
            own,
            variables: variables.into_iter().collect(),
            program,
        }
    }

    /// Who starts this server; `None` for one that is not to be held.
    pub(crate) fn launcher(&self, server: &ServerConfig) -> Option<Arc<dyn Launcher>> {
        let confinement = server.sandbox?;
        let mut readable = self.places.readable.clone();
        // The folder it was told to start in, and our own program, which puts the last wall up.
        readable.push(self.program.clone());
        if let Endpoint::Stdio { cwd: Some(cwd), .. } = &server.endpoint {
            readable.push(cwd.clone());
        }
        let sandbox = self.sandbox.clone().with_places(readable, self.places.writable.clone());
        let sandbox = if server.network { sandbox.with_network() } else { sandbox };
        let confined = match confinement {
            Confinement::Reading => Confined::Reading,
            Confinement::Writing => Confined::Writing,
        };
        Some(Arc::new(HeldLauncher {
            sandbox,
            confined,
            roots: self.roots.clone(),
            own: self.own.clone(),
            plain: HostLauncher::new(self.variables.iter().cloned()),
            leash: Arc::new(Leash::new(self.program.clone())),
        }))
    }
}

struct HeldLauncher {
    sandbox: Sandbox,
    confined: Confined,
    roots: Vec<PathBuf>,
    own: Vec<PathBuf>,
    plain: HostLauncher,
    leash: Arc<dyn Wrapper>,
}

impl HeldLauncher {
    /// The walls of one start. An error where this machine has none: a server that is to be held does not start without.
    fn walls(&self) -> io::Result<Arc<dyn Wrapper>> {
        self.sandbox.allowed().map_err(|refusal| io::Error::other(refusal.reason.clone()))?;
        let own = self.own.iter().filter(|own| self.roots.iter().any(|root| own.starts_with(root)));
        let own: Vec<_> = own.cloned().collect();
        let hidden = if self.sandbox.hides(self.confined) {
            Hidden { own, ..Hidden::default() }
        } else {
            Hidden::default()
        };
        let walls = self.sandbox.hiding(&self.roots, self.confined, hidden)?;
        let missing = "it is to run in a sandbox, and this machine has none; `tollgate doctor` says what would give it one";
        let walls = walls.ok_or_else(|| io::Error::other(missing))?;
        Ok(match self.sandbox.level() {
            // A bubble ends with whoever made it.
            Level::L3 => walls,
            Level::L1 | Level::L2 => Arc::new(Stacked::new(walls, self.leash.clone())),
        })
    }
}

impl Launcher for HeldLauncher {
    fn start(&self, program: Program) -> BoxFuture<'_, io::Result<Started>> {
        Box::pin(async move { self.plain.clone().wrapped(self.walls()?).start(program).await })
    }
}
