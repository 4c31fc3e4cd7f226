//! `tollgate mcp add|list|remove|import|check`: the servers whose tools are offered.

use crate::{
    args::{McpCommand, Shared},
    exit::{Exit, Fault},
};

mod file;
mod add;
pub(crate) mod state;
mod list;
mod remove;
mod import;
mod check;
mod login;

pub(crate) fn run(command: &McpCommand, shared: &Shared) -> Result<Exit, Fault> {
    match command {
        McpCommand::Add(add) => add::run(add, shared),
        McpCommand::List(_) => list::run(shared),
        McpCommand::Remove(remove) => remove::run(remove, shared),
        McpCommand::Import(import) => import::run(import, shared),
        McpCommand::Check(check) => check::run(check, shared),
        McpCommand::Login(login) => login::run(login, shared),
    }
}
