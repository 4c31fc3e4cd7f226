//! One case played through: the server, a well-behaved one beside it, a gate over both, and what came of it.

use std::{
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use tollgate::{
    Proposed, Registry, Scope, Settled, Tollgate,
    guard::{Run, Workspace},
    outcome::RefusalCode,
    policy::Rules,
    schema::{Provider, Target},
    tool::ToolBuilder,
};
use tollgate_mcp::{
    ServerConfig, Upstreams, Wanted, Wiring,
    bridge::PinStore,
    config::{Endpoint, ServerName},
};
use tollgate_tools::process::HostLauncher;

use super::{judge::judge, server::count};

/// What came of a case.
#[derive(Default)]
pub(crate) struct Facts {
    /// Labels of the case's own tools that are offered, and how many of them go into a prompt.
    pub(crate) visible: Vec<String>,
    pub(crate) in_prompt: usize,
    pub(crate) descriptions: Vec<String>,
    pub(crate) flagged: bool,
    pub(crate) aside: usize,
    pub(crate) others_visible: bool,
    pub(crate) builtin_intact: bool,
    pub(crate) provider_valid: bool,
    pub(crate) connected_ms: u128,
    pub(crate) call_ms: u128,
    pub(crate) settled: Vec<Settled>,
    /// What became of a second call, where the case makes one.
    pub(crate) again: Option<Settled>,
    /// Whether each of its tools is asked about where no rule speaks.
    pub(crate) needs_permission: bool,
    /// Why something was set aside, and why the server is not there.
    pub(crate) reasons: String,
    /// What reached the server before and after a change.
    pub(crate) executed: usize,
    pub(crate) executed_after_change: usize,
    pub(crate) refused_after_change: bool,
}

/// Plays a case; every way in which it was not as labelled.
pub(crate) async fn play(case: &Value) -> Vec<String> {
    let folder = tempfile::tempdir().expect("a folder");
    let (own, other) = (folder.path().join("own"), folder.path().join("other"));
    let steps = case["input"]["server"].as_array().expect("steps").clone();
    let well = json!([{"on": "tools/list", "reply": {"tools": [{"name": "well", "description": "Is well.", "inputSchema": {"type": "object"}}]}}]);
    let twin = steps.iter().any(|step| step["server2"] == true);
    for (place, steps) in [(&own, json!(steps)), (&other, if twin { json!(steps) } else { well })] {
        std::fs::create_dir_all(place).expect("a folder");
        std::fs::write(place.join("steps.json"), steps.to_string()).expect("steps");
    }
    let name = steps.iter().find_map(|step| step["server_name"].as_str()).unwrap_or("own");
    let Ok(name) = ServerName::new(name) else {
        // A server that is not taken at all offers nothing.
        return judge(
            case,
            &Facts { others_visible: true, builtin_intact: true, aside: 1, ..Facts::default() },
            &own,
        );
    };
    let scene = Scene { name, own: own.clone(), other, pins: PinStore::new(folder.path().join("pins.json")) };
    let facts = scene.run(&steps).await;
    judge(case, &facts, &own)
}

struct Scene {
    name: ServerName,
    own: std::path::PathBuf,
    other: std::path::PathBuf,
    pins: PinStore,
}

impl Scene {
    async fn run(&self, steps: &[Value]) -> Facts {
        let has = |key: &str| steps.iter().any(|step| step.get(key).is_some());
        let args =
            steps.iter().find_map(|step| step.get("call_args")).cloned().unwrap_or_else(|| json!({"q": "a"}));
        let mut facts = Facts::default();
        let began = Instant::now();
        let (upstreams, gate) = self.open(false).await;
        facts.connected_ms = began.elapsed().as_millis();
        self.look(&upstreams, &gate, &mut facts);
        let began = Instant::now();
        let calls: Vec<_> = facts.visible.iter().take(1).cloned().collect();
        for label in &calls {
            facts.settled.push(call(&gate, label, &args).await);
        }
        facts.call_ms = began.elapsed().as_millis();
        if let (Some(args), Some(label)) = (steps.iter().find_map(|step| step.get("again")), calls.first()) {
            facts.again = Some(call(&gate, label, args).await);
        }
        if has("crash_loop") {
            for _ in 0..8 {
                upstreams.connect(Wanted::All).await;
            }
        }
        if has("emit_loop") || has("request") {
            tokio::time::sleep(Duration::from_millis(1500)).await;
        }
        facts.executed = count(&self.own, "tools/call");
        if has("approve") {
            let changed = if has("emit") {
                tokio::time::sleep(Duration::from_secs(2)).await;
                upstreams.apply(&gate, &Registry::new());
                (upstreams, gate)
            } else {
                upstreams.close().await;
                self.open(has("change_launch")).await
            };
            for label in &calls {
                let settled = call(&changed.1, label, &args).await;
                facts.refused_after_change =
                    settled.refusal().is_some_and(|refusal| refusal.code == RefusalCode::DefinitionChanged);
            }
            facts.executed_after_change = count(&self.own, "tools/call") - facts.executed;
            changed.0.close().await;
        } else {
            upstreams.close().await;
        }
        facts
    }

    async fn open(&self, other_launch: bool) -> (Upstreams, Tollgate) {
        let server = |name: ServerName, folder: &Path| {
            let program = std::env::current_exe().expect("this program").to_string_lossy().into_owned();
            let mut args = vec!["--play".to_owned(), folder.to_string_lossy().into_owned()];
            args.extend(other_launch.then(|| "--other".to_owned()));
            let mut config = ServerConfig::new(
                name,
                Endpoint::Stdio { command: program, args, env: Vec::new(), env_names: Vec::new(), cwd: None },
            );
            config.timeouts.call = Duration::from_secs(3);
            config
        };
        let other = ServerName::new("other").expect("a name");
        let configs = [server(self.name.clone(), &self.own), server(other, &self.other)];
        let mut wiring = Wiring::new(Arc::new(HostLauncher::new([])));
        wiring.pins = Some(self.pins.clone());
        let upstreams = Upstreams::new(configs, wiring);
        upstreams.connect(Wanted::All).await;
        let builtin =
            ToolBuilder::new("read_file", "Reads a file.", json!({"type": "object"})).expect("a tool");
        let builtin =
            builtin.spec(|spec| spec.aliases = vec![tollgate::tool::ToolName::new("read").expect("a name")]);
        let builtin = builtin.run(|_, _| Box::pin(async { Ok(tollgate::Output::text("built in")) }));
        let base = Registry::new().with(builtin).expect("a registry");
        let registry = upstreams.register(base).registry;
        let policy = Rules::new().allow("*").expect("a rule");
        (upstreams, Tollgate::builder(registry).policy(policy).build())
    }

    fn look(&self, upstreams: &Upstreams, gate: &Tollgate, facts: &mut Facts) {
        let snapshot = gate.snapshot();
        let own = |label: &str| label.starts_with(&format!("{}__", self.name));
        for (label, spec) in snapshot.reachable(None).filter(|(label, _)| own(label)) {
            facts.visible.push(label.to_string());
            facts.needs_permission =
                spec.requires_permission && (facts.needs_permission || facts.visible.len() == 1);
            facts.descriptions.push(format!("{} {}", spec.description, spec.input_schema.to_string()));
        }
        facts.in_prompt = snapshot.offered(None).filter(|(label, _)| own(label)).count();
        facts.others_visible = snapshot.reachable(None).any(|(label, _)| label.starts_with("other__"));
        let read = snapshot.reachable(None).find(|(label, _)| &***label == "read_file");
        facts.builtin_intact = read.is_some_and(|(_, spec)| spec.aliases.len() == 1);
        let status = upstreams.status();
        let status = status.iter().find(|status| status.name == self.name).expect("its status");
        facts.flagged = status.tools.iter().any(|tool| !tool.warnings.is_empty());
        let again = upstreams.register(Registry::new()).set_aside;
        let own_aside: Vec<_> = again.iter().filter(|aside| aside.server == self.name).collect();
        facts.aside = own_aside.len();
        facts.reasons = format!("{own_aside:?} {:?}", status.health.reason());
        facts.provider_valid = Provider::ALL.into_iter().all(|provider| {
            let offer = snapshot.wire(Target { provider, strict: false }, None);
            offer.tools.iter().all(|tool| tool.name.len() <= 64)
        });
    }
}

async fn call(gate: &Tollgate, label: &str, args: &Value) -> Settled {
    static NEXT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
    let run = Run::new(format!("corpus-{}", NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed)));
    let scope = Arc::new(Scope::new(run, Workspace::new("/")));
    gate.call(&scope, Proposed::new("c1", label, args)).await
}
