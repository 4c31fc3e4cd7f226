//! `tollgate mcp`: one client on stdin and stdout.

use std::{fs::File, io::IsTerminal as _, os::fd::AsFd};

use tollgate_mcp::gateway::Identity;

use super::gateway::Served;
use crate::{
    args::{Shared, Shown},
    exit::{Exit, Fault},
    stop, words,
};

pub(crate) fn run(shown: &Shown, shared: &Shared) -> Result<Exit, Fault> {
    if std::io::stdin().is_terminal() {
        words::talk("note: this speaks MCP on stdin and stdout; it is started by a client, not by hand.");
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime = runtime.map_err(|error| Fault::machine("starting", &error))?;
    let served = runtime.block_on(Served::build(shared, shown))?;
    // Files of our own: the standard library's stdout would hold back lines and lock for each.
    let own = |end: std::os::fd::BorrowedFd<'_>| end.try_clone_to_owned().map(File::from);
    let ends = own(std::io::stdin().as_fd()).and_then(|input| Ok((input, own(std::io::stdout().as_fd())?)));
    let (input, output) = ends.map_err(|error| Fault::machine("opening stdin and stdout", &error))?;
    let identity =
        Identity { caller: served.world.scope.caller.clone(), route: served.world.scope.route.clone() };
    let (gateway, handle) = (served.gateway.clone(), runtime.handle().clone());
    let (over, ended) = tokio::sync::oneshot::channel();
    let spawned = std::thread::Builder::new().name("mcp-reader".to_owned()).spawn(move || {
        let _ = over.send(gateway.stdio(identity, input, output, &handle));
    });
    spawned.map_err(|error| Fault::machine("starting", &error))?;
    let exit = runtime.block_on(async {
        tokio::select! {
            ended = ended => match ended {
                Ok(Err(error)) => Err(Fault::machine("reading stdin", &error)),
                _ => Ok(Exit::Done),
            },
            () = stop::wished() => Ok(Exit::Interrupted),
        }
    });
    runtime.block_on(served.finish());
    runtime.shutdown_background();
    exit
}
