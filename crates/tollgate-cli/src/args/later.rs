//! What a command takes, told to the parser only once that command is named: who asks for one does not wait for all.

use std::{
    ops::{Deref, DerefMut},
    sync::atomic::{AtomicBool, Ordering},
};

use clap::{
    ArgMatches, Args, Command, CommandFactory, Error, FromArgMatches, Subcommand, builder::Resettable,
};

/// True once somebody wants the whole tree, to write all of it down.
static ALL: AtomicBool = AtomicBool::new(false);

/// The command line with everything every command takes.
pub(crate) fn whole<T: CommandFactory>() -> Command {
    ALL.store(true, Ordering::Relaxed);
    T::command()
}

fn all() -> bool {
    ALL.load(Ordering::Relaxed)
}

/// The arguments, or the subcommands, of one command.
#[derive(Debug)]
pub(crate) struct Later<T>(pub(crate) T);

impl<T> Deref for Later<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T> DerefMut for Later<T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.0
    }
}

impl<T: FromArgMatches> FromArgMatches for Later<T> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        T::from_arg_matches(matches).map(Self)
    }

    fn from_arg_matches_mut(matches: &mut ArgMatches) -> Result<Self, Error> {
        T::from_arg_matches_mut(matches).map(Self)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        self.0.update_from_arg_matches(matches)
    }
}

impl<T: Args> Args for Later<T> {
    fn augment_args(command: Command) -> Command {
        if all() {
            return T::augment_args(command);
        }
        command.defer(|command| named(command, T::augment_args))
    }

    fn augment_args_for_update(command: Command) -> Command {
        T::augment_args_for_update(command)
    }
}

impl<T: Subcommand> Subcommand for Later<T> {
    fn augment_subcommands(command: Command) -> Command {
        if all() {
            return T::augment_subcommands(command);
        }
        command.defer(|command| named(command, T::augment_subcommands))
    }

    fn augment_subcommands_for_update(command: Command) -> Command {
        T::augment_subcommands_for_update(command)
    }

    fn has_subcommand(name: &str) -> bool {
        T::has_subcommand(name)
    }
}

/// Adds what the command takes. What it is for was said where it is listed, and stays so.
fn named(command: Command, takes: fn(Command) -> Command) -> Command {
    let (about, long) = (command.get_about().cloned(), command.get_long_about().cloned());
    takes(command).about(Resettable::from(about)).long_about(Resettable::from(long))
}
