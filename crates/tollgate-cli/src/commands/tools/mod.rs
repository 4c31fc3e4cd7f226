//! `tollgate tools`: what a model is offered, what it costs, what is wrong with it, and how a provider gets it.

use tollgate::{
    catalog::{Loaded as Searched, Snapshot},
    schema::{Provider, Target},
    tool::Route,
};
use tollgate_mcp::Wanted;

use crate::{
    args::{Environment, Shared, Tools},
    config::Config,
    exit::{Exit, Fault},
    mocks::Loaded,
    servers::{self, Servers},
    stop, words, world,
};

mod list;
mod show;
mod lint;
mod export;

/// The tools a command looks at.
struct Catalogue {
    loaded: Loaded,
    snapshot: Snapshot,
    route: Option<Route>,
    json: bool,
}

pub(crate) fn run(tools: &Tools, shared: &Shared) -> Result<Exit, Fault> {
    let working = world::working_folder(&world::roots(shared)?);
    let config = Config::load(shared, &Environment::read(), &working)?;
    let mut loaded = Loaded::definitions(&shared.mocks)?;
    words::set_aside(&loaded);
    loaded.must_have(shared.route.as_deref())?;
    connect(shared, &config, &mut loaded)?;
    if loaded.is_empty() {
        words::talk(&format!("note: {}", words::no_tools(&loaded)));
    }
    let snapshot = Snapshot::take(&loaded.registry, &config.policy, &Searched::default());
    let route = shared.route.as_ref().map(Route::new);
    if let Some(route) = route.as_ref().filter(|route| snapshot.reachable(Some(route)).next().is_none()) {
        words::talk(&format!("note: the route {:?} exposes no tool.", route.as_str()));
    }
    let catalogue = Catalogue { loaded, snapshot, route, json: shared.json };
    match tools {
        Tools::List(list) => list::run(&catalogue, list.target.target()),
        Tools::Show(show) => show::run(&catalogue, &show.tool, show.target.target()),
        Tools::Search(search) => list::search(&catalogue, &search.query, search.limit),
        Tools::Lint(lint) => lint::run(&catalogue, lint),
        Tools::Export(export) => {
            export::run(&catalogue, Target { provider: export.provider.into(), strict: export.strict })
        }
    }
}

/// The tools of every server, asked for now: a list must not be from yesterday.
fn connect(shared: &Shared, config: &Config, loaded: &mut Loaded) -> Result<(), Fault> {
    let servers = Servers::load(shared, config, &world::scope(shared, &Environment::read())?)?;
    if servers.upstreams.is_empty() {
        servers.tell_trouble(|_| true);
        return Ok(());
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Fault::machine("starting", &error))?;
    runtime.block_on(async {
        tokio::select! {
            () = servers.connect(Wanted::All) => {}
            () = stop::wished() => {}
        }
        servers::tell_set_aside(servers.offer(loaded).iter());
        servers.tell_trouble(|_| true);
        servers.upstreams.close().await;
    });
    runtime.shutdown_background();
    Ok(())
}

/// Whose form costs are counted in where no provider was named.
const USUAL: Target = Target { provider: Provider::Anthropic, strict: false };

/// Rows of words below each other, all columns but the last as wide as their widest word.
pub(crate) fn table<const COLUMNS: usize>(rows: &[[String; COLUMNS]]) -> String {
    const WIDEST: usize = 60;
    let width = |column: usize| {
        let widths = rows.iter().map(|row| row[column].chars().count().min(WIDEST));
        widths.max().unwrap_or_default()
    };
    let widths: Vec<_> = (0..COLUMNS).map(width).collect();
    let line = |row: &[String; COLUMNS]| {
        let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}", width = *width));
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned() + "\n"
    };
    rows.iter().map(line).collect()
}
