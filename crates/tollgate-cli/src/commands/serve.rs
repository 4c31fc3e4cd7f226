//! `tollgate serve`: clients over HTTP, at `/mcp`.

use std::{path::Path, time::Duration};

use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tollgate_mcp::gateway::{
    Identity,
    http::{Auth, HttpSettings, Issuer, Names, PATH, Tokens},
};

use super::gateway::Served;
use crate::{
    args::{Environment, Serve, Shared},
    exit::{Exit, Fault},
    stop, words,
};

/// Requests a second of each caller where others than this machine can reach the address.
const RATE_BEYOND_LOOPBACK: u32 = 200;

pub(crate) fn run(serve: &Serve, shared: &Shared) -> Result<Exit, Fault> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Fault::machine("starting", &error))?;
    let served = runtime.block_on(Served::build(shared, &serve.shown))?;
    let settings = settings(serve, &served)?;
    let exit = runtime.block_on(async {
        let listener = TcpListener::bind(serve.listen).await.map_err(|error| {
            let message = format!("the address {} cannot be used: {error}", serve.listen);
            Fault::usage(message, "choose another with --listen; port 0 takes a free one.")
        })?;
        let address = listener.local_addr().map_err(|error| Fault::machine("listening", &error))?;
        let wished = stop::wished();
        words::talk(&format!("serving {} tools at http://{address}{PATH}", served.tools()));
        let over = CancellationToken::new();
        let stop = over.clone();
        tokio::spawn(async move {
            wished.await;
            stop.cancel();
        });
        let ended = served.gateway.http(listener, settings, over).await;
        ended.map(|()| Exit::Done).map_err(|error| Fault::machine("serving", &error))
    });
    runtime.block_on(served.finish());
    runtime.shutdown_background();
    exit
}

fn settings(serve: &Serve, served: &Served) -> Result<HttpSettings, Fault> {
    let loopback = serve.listen.ip().is_loopback();
    let auth = auth(serve, served)?;
    if !loopback && matches!(auth, Auth::Open(_)) {
        let message = format!("{} can be reached by others, and nothing says who may ask", serve.listen);
        return Err(Fault::usage(
            message,
            "give --tokens FILE, set TOLLGATE_TOKEN, or give --issuer; or listen on 127.0.0.1.",
        ));
    }
    let mut settings = HttpSettings::new(auth);
    settings.names = Names { hosts: serve.host.clone(), origins: serve.origin.clone() };
    settings.max_body = serve.max_body;
    settings.session_idle = Duration::from_secs(serve.session_idle);
    settings.per_second = serve.rate.unwrap_or(if loopback { 0 } else { RATE_BEYOND_LOOPBACK });
    Ok(settings)
}

fn auth(serve: &Serve, served: &Served) -> Result<Auth, Fault> {
    let scope = &served.world.scope;
    if let (Some(issuer), Some(keys), Some(audience)) = (&serve.issuer, &serve.issuer_keys, &serve.audience) {
        let read = Issuer::new(issuer, audience, &text(keys, "--issuer-keys")?).map_err(|error| {
            let message = format!("the keys in {} cannot be used: {error}", keys.display());
            Fault::usage(message, "give the issuer's JWK set: {\"keys\": [{\"kty\": …}]}.")
        })?;
        let read = match &serve.route_claim {
            Some(claim) => read.with_route_claim(claim),
            None => read,
        };
        return Ok(Auth::Issued(Box::new(read)));
    }
    let mut tokens = match &serve.tokens {
        None => None,
        Some(file) => {
            let read = Tokens::parse(&text(file, "--tokens")?).map_err(|error| {
                let message = format!("the tokens in {} cannot be used: {error}", file.display());
                Fault::usage(
                    message,
                    "a line is a caller's name, a token of 16 characters or more, and maybe a route.",
                )
            })?;
            Some(read)
        }
    };
    let own = Identity { caller: scope.caller.clone(), route: scope.route.clone() };
    if let Some(token) = Environment::read().token {
        let token = token.to_str().filter(|token| token.len() >= 16 && !token.contains(char::is_whitespace));
        let token = token.ok_or_else(|| {
            Fault::usage("TOLLGATE_TOKEN is no token", "use 16 characters or more, without blanks.")
        })?;
        tokens = Some(tokens.unwrap_or_default().with(token, own.clone()));
    }
    Ok(tokens.map_or(Auth::Open(own), Auth::Tokens))
}

/// A file that only its owner may read: what is in it lets others in.
fn text(file: &Path, option: &str) -> Result<String, Fault> {
    use std::os::unix::fs::PermissionsExt as _;
    let shown = file.display();
    let unreadable = |error: std::io::Error| {
        Fault::usage(
            format!("{option} {shown} cannot be read: {error}"),
            format!("give {option} a file that can be read."),
        )
    };
    let about = std::fs::metadata(file).map_err(unreadable)?;
    if option == "--tokens" && about.permissions().mode() & 0o077 != 0 {
        let message = format!("{shown} can be read by others, and has tokens in it");
        return Err(Fault::usage(message, format!("chmod 600 {shown}")));
    }
    std::fs::read_to_string(file).map_err(unreadable)
}
