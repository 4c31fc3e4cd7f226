//! Whoever wants this program to stop is heard: Ctrl-C, and the signals of a system that shuts down or a terminal that
//! closes. What is under way then ends in order, and what it put anywhere is taken away.

use tokio::signal::unix::{Signal, SignalKind, signal};

/// What somebody wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wish {
    /// Ctrl-C: that what is under way ends.
    Interrupt,
    /// That the program does.
    Leave,
}

/// Listens from the moment it is made.
#[derive(Debug)]
pub(crate) struct Stops {
    interrupt: Option<Signal>,
    terminate: Option<Signal>,
    hangup: Option<Signal>,
}

impl Stops {
    /// A signal that cannot be listened to keeps the effect it has.
    pub(crate) fn listen() -> Self {
        let hear = |kind| signal(kind).ok();
        // Whoever starts a program with `nohup` wants it to outlive the terminal.
        let hangup = (!is_ignored(SignalKind::hangup())).then(|| hear(SignalKind::hangup())).flatten();
        Self { interrupt: hear(SignalKind::interrupt()), terminate: hear(SignalKind::terminate()), hangup }
    }

    /// The next wish.
    pub(crate) async fn next(&mut self) -> Wish {
        tokio::select! {
            () = heard(&mut self.interrupt) => Wish::Interrupt,
            () = heard(&mut self.terminate) => Wish::Leave,
            () = heard(&mut self.hangup) => Wish::Leave,
        }
    }
}

/// Resolves when somebody wants this program, or what it does, to stop. It listens from the moment it is called: what
/// is awaited beside it may be interrupted in its very first step.
pub(crate) fn wished() -> impl Future<Output = ()> {
    let mut stops = Stops::listen();
    async move {
        stops.next().await;
    }
}

async fn heard(signal: &mut Option<Signal>) {
    let heard = match signal {
        Some(signal) => signal.recv().await,
        None => None,
    };
    if heard.is_none() {
        std::future::pending::<()>().await;
    }
}

/// True where whoever started this program has switched the signal off.
fn is_ignored(kind: SignalKind) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|digits| u64::from_str_radix(digits.trim(), 16).ok()).unwrap_or(0);
    let number = kind.as_raw_value() - 1;
    mask >> number & 1 == 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_wish_is_heard_before_anybody_waits_for_it() {
        let wished = wished();
        rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::INT).unwrap();
        tokio::time::timeout(std::time::Duration::from_secs(20), wished).await.unwrap();
    }
}
