//! One server while it is used: started when it is needed, listed, compared with its pins, watched, started again.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, Weak,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use tokio::{sync::watch, time::Instant};
use tollgate::launch::Launcher;

use super::{
    definition::Definition,
    diff::diff,
    life::{Failures, Health},
    listing::Listing,
    pins::{PinStore, Pinned, reached_by},
};
use crate::{
    auth::Login,
    client::{Connection, Fault, Host, Reach, Session, Tail, connect},
    config::{Endpoint, Generation, ServerConfig},
};

/// One server.
pub(super) struct Upstream {
    pub(super) config: ServerConfig,
    pub(super) launcher: Arc<dyn Launcher>,
    pub(super) login: Arc<Login>,
    pub(super) host: Arc<Host>,
    pub(super) pins: PinStore,
    pub(super) changed: watch::Sender<u64>,
    state: Mutex<State>,
    // One start at a time; whoever comes second finds it done.
    starting: tokio::sync::Mutex<()>,
    speaks_legacy: AtomicBool,
}

#[derive(Default)]
struct State {
    connection: Option<Arc<Connection>>,
    since: Option<Instant>,
    tail: Option<Tail>,
    listed: Option<Arc<Listed>>,
    failures: Failures,
    starting: bool,
    strays: u64,
}

/// What a server offered when it was last asked.
#[derive(Default)]
pub(super) struct Listed {
    pub(super) tools: BTreeMap<String, Arc<Offered>>,
    pub(super) aside: Vec<(String, String)>,
}

/// One tool on offer, and how it stands to its pin.
#[derive(Debug)]
pub(super) struct Offered {
    pub(super) definition: Definition,
    pub(super) standing: Standing,
    /// What was pinned, where that is something else.
    pub(super) pinned: Option<Definition>,
}

/// How a definition stands to what was pinned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Standing {
    /// As it was, or seen for the first time.
    Pinned,
    /// Another definition: it is not called before a person approved it.
    Changed {
        /// What is different.
        diff: String,
    },
    /// The server is reached by another command or address than when it was pinned.
    OtherServer,
    /// The pins cannot be read.
    Unknown {
        /// Why.
        why: String,
    },
}

/// Why a server cannot be used at the moment.
#[derive(Debug, Clone)]
pub(super) struct Down {
    pub(super) reason: String,
    pub(super) retry_after: Duration,
    pub(super) wants_login: bool,
}

/// The pause between two lists of one server.
const COALESCE: Duration = Duration::from_millis(200);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// So many of the last lines of a server are shown when it fails.
const LAST_LINES: usize = 5;

impl Upstream {
    pub(super) fn new(
        config: ServerConfig,
        launcher: Arc<dyn Launcher>,
        login: Arc<Login>,
        host: Arc<Host>,
        pins: PinStore,
        changed: watch::Sender<u64>,
    ) -> Self {
        Self {
            config,
            launcher,
            login,
            host,
            pins,
            changed,
            state: Mutex::default(),
            starting: tokio::sync::Mutex::default(),
            speaks_legacy: AtomicBool::new(false),
        }
    }

    /// The connection, brought about where there is none. Many may ask: one start serves them all.
    pub(super) async fn connection(self: &Arc<Self>) -> Result<Arc<Connection>, Down> {
        match self.alive() {
            Some(connection) => Ok(connection),
            // Boxed: a call whose server is there, as nearly always, does not carry the room for a start with it.
            None => Box::pin(self.brought_about()).await,
        }
    }

    async fn brought_about(self: &Arc<Self>) -> Result<Arc<Connection>, Down> {
        let _one = self.starting.lock().await;
        if let Some(connection) = self.alive() {
            return Ok(connection);
        }
        self.note_loss();
        if let Some(Health::Down { reason, retry_after } | Health::Broken { reason, retry_after }) =
            self.state().failures.health()
            && !retry_after.is_zero()
        {
            return Err(Down { reason, retry_after, wants_login: false });
        }
        self.state().starting = true;
        let started = self.start().await;
        self.state().starting = false;
        self.tell_change();
        started
    }

    async fn start(self: &Arc<Self>) -> Result<Arc<Connection>, Down> {
        let began = tokio::time::timeout(self.config.timeouts.start, self.reach()).await;
        let fault = match began {
            Ok(Ok((connection, listed))) => {
                let connection = Arc::new(connection);
                let session = Arc::clone(&connection.0);
                let mut state = self.state();
                state.connection = Some(connection.clone());
                state.since = Some(Instant::now());
                state.listed = Some(Arc::new(listed));
                drop(state);
                tokio::spawn(watch_list(Arc::downgrade(self), session));
                return Ok(connection);
            }
            Ok(Err(fault)) => fault,
            Err(_) => Fault::Silent(self.config.timeouts.start.as_millis()),
        };
        let wants_login = matches!(fault, Fault::Unauthorized { .. });
        let mut state = self.state();
        let said = state.tail.as_ref().and_then(|tail| tail.last_lines(LAST_LINES));
        let reason = match said {
            Some(said) => format!("{fault}; it said: {said}"),
            None => fault.to_string(),
        };
        state.failures.note(reason.clone(), Duration::ZERO);
        let retry_after = match state.failures.health() {
            Some(Health::Down { retry_after, .. } | Health::Broken { retry_after, .. }) => retry_after,
            _ => Duration::ZERO,
        };
        Err(Down { reason, retry_after, wants_login })
    }

    async fn reach(&self) -> Result<(Connection, Listed), Fault> {
        if let Some(missing) = self.config.missing.first() {
            return Err(Fault::NotSent(format!("it wants the variable {missing}, which is not set")));
        }
        let mut config = self.config.clone();
        // Once it was found out, it is not asked again at every start.
        if config.generation == Generation::Auto && self.speaks_legacy.load(Ordering::Relaxed) {
            config.generation = Generation::Legacy;
        }
        let reach =
            Reach { config: &config, launcher: &*self.launcher, login: &self.login, host: &self.host };
        let tail_into = |tail| self.state().tail = tail;
        let connection = connect(&reach, &tail_into).await;
        let legacy = match &connection {
            Ok(connection) => !connection.era().is_stateless(),
            // It may have ended over the very question; a program that is not well is not started twice each time.
            Err(Fault::Lost(_)) => matches!(config.endpoint, Endpoint::Stdio { .. }),
            Err(_) => false,
        };
        self.speaks_legacy.store(legacy, Ordering::Relaxed);
        let connection = connection?;
        let listed = self.list(&connection).await?;
        Ok((connection, listed))
    }

    /// Asks for the whole list and compares it with the pins.
    async fn list(&self, session: &Arc<Session>) -> Result<Listed, Fault> {
        let mut listing = Listing::new(self);
        listing.ask(session).await?;
        let Listing { mut definitions, aside, .. } = listing;
        definitions.retain(|name, _| self.wants(name));
        Ok(Listed { tools: self.compared(definitions), aside })
    }

    /// True for a tool that the configuration lets in.
    fn wants(&self, name: &str) -> bool {
        let patterns = &self.config.tools;
        patterns.is_empty() || patterns.iter().any(|pattern| fits(pattern, name))
    }

    /// How each definition stands to its pin; what is new is pinned.
    fn compared(&self, definitions: BTreeMap<String, Definition>) -> BTreeMap<String, Arc<Offered>> {
        let reached = reached_by(&self.config.endpoint);
        let pinned = match self.pins.of(&self.config.name) {
            Ok(pinned) => pinned.unwrap_or_default(),
            Err(fault) => {
                let why = fault.to_string();
                return offered(definitions, |_| (Standing::Unknown { why: why.clone() }, None));
            }
        };
        if !pinned.reached_by.is_empty() && pinned.reached_by != reached {
            return offered(definitions, |_| (Standing::OtherServer, None));
        }
        let new: Vec<_> =
            definitions.values().filter(|one| !pinned.tools.contains_key(one.name.as_str())).collect();
        if !new.is_empty()
            && let Err(fault) = self.pins.add(&self.config.name, &reached, new)
        {
            let why = fault.to_string();
            return offered(definitions, |_| (Standing::Unknown { why: why.clone() }, None));
        }
        offered(definitions, |definition| self.standing(definition, &pinned))
    }

    fn standing(&self, definition: &Definition, pinned: &Pinned) -> (Standing, Option<Definition>) {
        match pinned.tools.get(definition.name.as_str()) {
            Some(pin) if *pin.hash != *definition.hash => {
                let before = Definition::of_said(&pin.said, &self.config.limits);
                (Standing::Changed { diff: diff(&pin.said, &definition.said) }, before)
            }
            _ => (Standing::Pinned, None),
        }
    }

    /// Takes what the server offers now for what may be called.
    pub(super) fn approve(&self) -> Result<(), super::PinFault> {
        let Some(listed) = self.listed() else { return Ok(()) };
        let definitions = listed.tools.values().map(|offered| &offered.definition);
        self.pins.replace(&self.config.name, &reached_by(&self.config.endpoint), definitions)?;
        let definitions = listed.tools.iter().map(|(name, one)| (name.clone(), one.definition.clone()));
        let tools = self.compared(definitions.collect());
        self.state().listed = Some(Arc::new(Listed { tools, aside: listed.aside.clone() }));
        self.tell_change();
        Ok(())
    }

    /// What is pinned of a server that was not asked yet, so that its tools are known before it is started.
    pub(super) fn remembered(&self) -> Option<Listed> {
        let pinned = self.pins.of(&self.config.name).ok()??;
        if pinned.reached_by != reached_by(&self.config.endpoint) {
            return None;
        }
        let said =
            pinned.tools.values().filter_map(|pin| Definition::of_said(&pin.said, &self.config.limits));
        let definitions = said.map(|definition| (definition.name.as_str().to_owned(), definition));
        let tools =
            offered(definitions.filter(|(name, _)| self.wants(name)).collect(), |_| (Standing::Pinned, None));
        Some(Listed { tools, aside: Vec::new() })
    }

    /// What the server offered last.
    pub(super) fn listed(&self) -> Option<Arc<Listed>> {
        self.state().listed.clone()
    }

    pub(super) fn offers(&self, name: &str) -> Option<Arc<Offered>> {
        self.state().listed.as_ref()?.tools.get(name).cloned()
    }

    /// The connection has answered: it is well.
    pub(super) fn is_well(&self) {
        self.state().failures.forget();
    }

    /// The connection is of no use any more.
    pub(super) fn give_up(&self, connection: &Arc<Connection>) {
        let mut state = self.state();
        if state.connection.as_ref().is_some_and(|own| Arc::ptr_eq(own, connection)) {
            state.connection = None;
        }
    }

    pub(super) fn health(&self) -> Health {
        if self.alive().is_some() {
            return Health::Ready;
        }
        self.note_loss();
        let state = self.state();
        if state.starting {
            return Health::Starting;
        }
        state.failures.health().unwrap_or(Health::Idle)
    }

    /// Lines that were no messages, and answers nobody waited for.
    pub(super) fn strays(&self) -> u64 {
        let state = self.state();
        state.strays + state.connection.as_ref().map_or(0, |connection| connection.stray())
    }

    /// The version of the protocol that was agreed on.
    pub(super) fn version(&self) -> Option<String> {
        self.alive().map(|connection| connection.era().version().to_owned())
    }

    pub(super) async fn close(&self) {
        let connection = self.state().connection.take();
        if let Some(connection) = connection {
            connection.close("it was closed").await;
        }
    }

    fn alive(&self) -> Option<Arc<Connection>> {
        self.state().connection.as_ref().filter(|connection| connection.is_alive()).cloned()
    }

    /// Counts a connection that was lost since somebody looked.
    fn note_loss(&self) {
        let mut state = self.state();
        let Some(lost) = state.connection.take_if(|connection| !connection.is_alive()) else { return };
        state.strays += lost.stray();
        let held = state.since.map_or(Duration::ZERO, |since| since.elapsed());
        let said = state.tail.as_ref().and_then(|tail| tail.last_lines(LAST_LINES));
        let reason = match said {
            Some(said) => format!("{}; it said: {said}", lost.reason()),
            None => lost.reason(),
        };
        state.failures.note(reason, held);
    }

    fn tell_change(&self) {
        self.changed.send_modify(|count| *count += 1);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Asks for the list again when the server says it changed: many notices are one question, and the pause between two
/// questions grows while they keep coming.
async fn watch_list(upstream: Weak<Upstream>, session: Arc<Session>) {
    let mut pause = COALESCE;
    loop {
        let quiet_since = Instant::now();
        tokio::select! {
            () = session.list_changed.notified() => {}
            () = session.ended() => break,
        }
        pause = if quiet_since.elapsed() > LONGEST_PAUSE { COALESCE } else { pause };
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
        let Some(upstream) = upstream.upgrade() else { return };
        let asked = tokio::time::timeout(upstream.config.timeouts.start, upstream.list(&session)).await;
        if let Ok(Ok(listed)) = asked {
            upstream.state().listed = Some(Arc::new(listed));
            upstream.tell_change();
        }
    }
    if let Some(upstream) = upstream.upgrade() {
        upstream.tell_change();
    }
}

fn offered(
    definitions: BTreeMap<String, Definition>,
    standing: impl Fn(&Definition) -> (Standing, Option<Definition>),
) -> BTreeMap<String, Arc<Offered>> {
    let each = definitions.into_iter().map(|(name, definition)| {
        let (standing, pinned) = standing(&definition);
        (name, Arc::new(Offered { definition, standing, pinned }))
    });
    each.collect()
}

/// `*` for any characters; everything else for itself.
fn fits(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == name,
        Some((before, after)) => {
            let Some(rest) = name.strip_prefix(before) else { return false };
            (0..=rest.len()).any(|at| rest.is_char_boundary(at) && fits(after, &rest[at..]))
        }
    }
}
