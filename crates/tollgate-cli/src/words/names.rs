//! What a person is told who typed the name of a tool that is not there.

use tollgate::schema::nearest;

use super::visible;
use crate::{mocks::Loaded, world::World};

/// So many names are worth a look.
const MOST: usize = 3;

/// The way on from a name that no tool has: the names it may have been meant for, and the command that lists them all.
pub(crate) fn unknown_tool(name: &str, world: &World) -> String {
    if let Some(absent) = world.loaded.registry.absent().iter().find(|absent| absent.has(name)) {
        return absent.hint.to_string();
    }
    if let Some(aside) = aside(name, &world.loaded) {
        return aside;
    }
    if world.loaded.is_empty() {
        return no_tools(&world.loaded);
    }
    let snapshot = world.gate.snapshot();
    let known: Vec<&str> =
        snapshot.reachable(world.scope.route.as_ref()).map(|(label, _)| &**label).collect();
    did_you_mean(name, &known, same(world))
}

/// What to do about a tool that was set aside: for whoever calls it, it is there and has a fault.
fn aside(name: &str, loaded: &Loaded) -> Option<String> {
    let own = name.split_once("__").map_or(name, |(_, own)| own);
    let (file, aside) = loaded.aside(name).or_else(|| loaded.aside(own))?;
    let (file, why) = (file.display().to_string(), aside.why.to_string());
    Some(format!("it was set aside from {}: {}; put that right.", visible(&file), visible(&why)))
}

/// What to do where there is no tool at all.
pub(crate) fn no_tools(loaded: &Loaded) -> String {
    match loaded.set_aside().next() {
        None => "no tools are loaded: give --mocks FILE.".to_owned(),
        Some(_) => "no tools are loaded: put right what was set aside.".to_owned(),
    }
}

/// What has to be given again to see the same tools.
pub(super) fn same(world: &World) -> &'static str {
    if world.loaded.files.is_empty() { "" } else { " with the same --mocks" }
}

/// The same among these names; `same` is what has to be given again to see them.
pub(crate) fn did_you_mean(name: &str, known: &[&str], same: &str) -> String {
    let near: Vec<_> = near(name, known).into_iter().map(|name| format!("`{name}`")).collect();
    if near.is_empty() {
        return format!(
            "`tollgate tools list`{same} shows every name, `tollgate tools search WORDS` finds a tool by what it does."
        );
    }
    format!("did you mean {}? `tollgate tools list`{same} shows every name.", near.join(" or "))
}

/// The names nearest to one: what it may be a slip of, and those that have it in them or that it has.
fn near<'a>(name: &str, known: &[&'a str]) -> Vec<&'a str> {
    let slip = nearest(name, known.iter().copied());
    let alike = |known: &&&str| {
        let (name, known) = (name.to_lowercase(), known.to_lowercase());
        name.len() > 2 && known.len() > 2 && (known.contains(&name) || name.contains(&known))
    };
    let mut near: Vec<_> = slip.into_iter().collect();
    near.extend(known.iter().filter(alike).filter(|known| Some(**known) != slip));
    near.truncate(MOST);
    near
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_may_have_been_meant_are_slips_and_those_that_share_a_word() {
        let known = ["edit", "glob", "read", "read_file", "shell", "write"];
        for (name, expected) in [
            ("reed", &["read"][..]),
            ("write_file", &["write"]),
            ("rea", &["read", "read_file"]),
            ("nothing", &[]),
            ("", &[]),
        ] {
            assert_eq!(near(name, &known), expected, "{name}");
        }
    }
}
