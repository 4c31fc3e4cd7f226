//! `mcp login`: the person goes to who issues tokens for a server, and comes back with one.

use std::time::Duration;

use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader},
    net::TcpListener,
};
use tollgate_mcp::{Wanted, auth::LoginFault};

use crate::{
    args::{Environment, McpLogin, Shared},
    config::Config,
    exit::{Exit, Fault},
    servers::Servers,
    stop, words, world,
};

pub(super) fn run(login: &McpLogin, shared: &Shared) -> Result<Exit, Fault> {
    let scope = world::scope(shared, &Environment::read())?;
    let config = Config::load(shared, &Environment::read(), scope.cwd())?;
    let servers = Servers::load(shared, &config, &scope)?;
    let Some(at) = servers.upstreams.login(&login.name) else {
        servers.tell_trouble(|name| name == login.name);
        let hint = "`tollgate mcp list` says which there are.";
        return Err(Fault::usage(format!("there is no server {:?} that may start", login.name), hint));
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Fault::machine("starting", &error))?;
    runtime.block_on(async {
        // The server says itself which login it wants; one that wants none has its tools listed.
        servers.upstreams.connect(Wanted::Server(&login.name)).await;
        let listener =
            TcpListener::bind("127.0.0.1:0").await.map_err(|error| Fault::machine("listening", &error))?;
        let port = listener.local_addr().map_err(|error| Fault::machine("listening", &error))?.port();
        let authorization =
            at.begin(&format!("http://127.0.0.1:{port}/callback")).await.map_err(|fault| failed(&fault))?;
        words::talk("open this address in a browser, log in, and come back here:");
        words::data(&authorization.url)?;
        let wait = Duration::from_secs(login.wait);
        let back = tokio::select! {
            back = tokio::time::timeout(wait, answer(&listener)) => back,
            () = stop::wished() => return Ok(Exit::Interrupted),
        };
        let Ok(query) = back else {
            return Err(Fault::input(
                "nobody came back in time",
                "start it again; `--wait` gives more time.",
            ));
        };
        at.finish(authorization, &query).await.map_err(|fault| failed(&fault))?;
        words::talk(&format!("logged in at {}.", login.name));
        Ok(Exit::Done)
    })
}

fn failed(fault: &LoginFault) -> Fault {
    let hint = match fault {
        LoginFault::Unreachable(_) => "see whether the server is up, then try again.",
        LoginFault::NotKept(_) => "see that the folder of your data can be written.",
        _ => {
            "a server with its own kind of login takes a header instead: `tollgate mcp add NAME --url URL --header 'Authorization: Bearer ${TOKEN}'`."
        }
    };
    Fault::input(format!("the login did not come about: {}", words::visible(&fault.to_string())), hint)
}

/// The longest first line of a request that is looked at.
const LONGEST: u64 = 16 << 10;

/// Waits for the browser to come back; the query it brings.
async fn answer(listener: &TcpListener) -> String {
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(Duration::from_millis(50)).await;
            continue;
        };
        let mut stream = BufReader::new(stream);
        let mut line = String::new();
        let mut first = (&mut stream).take(LONGEST);
        let read = first.read_line(&mut line);
        if !matches!(tokio::time::timeout(Duration::from_secs(5), read).await, Ok(Ok(_))) {
            continue;
        }
        let query =
            line.strip_prefix("GET /callback?").and_then(|rest| rest.split(' ').next()).map(str::to_owned);
        let (status, text) = match query {
            Some(_) => ("200 OK", "You can close this page and go back to the terminal."),
            None => ("404 Not Found", "There is nothing here."),
        };
        let length = text.len();
        let page = format!(
            "HTTP/1.1 {status}\r\ncontent-type: text/plain; charset=utf-8\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{text}"
        );
        let _ = stream.get_mut().write_all(page.as_bytes()).await;
        if let Some(query) = query {
            return query;
        }
    }
}
