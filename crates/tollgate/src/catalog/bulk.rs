//! Many schemas compiled at once, on as many cores as there are. Every thread has ended when it returns.

use std::{collections::HashSet, num::NonZero, panic::resume_unwind, thread};

use crate::{
    schema::{BadSchema, Compiled},
    tool::{Origin, ToolSpec},
};

/// The schemas of one tool, ready to judge.
pub(super) struct Ready {
    pub(super) input: Compiled,
    pub(super) output: Option<Compiled>,
}

/// Fewer than these are compiled sooner than a thread has started.
const WORTH_A_THREAD: usize = 128;

const MOST_THREADS: usize = 8;

/// As much as a program's first thread has: schemas nest, and compiling them recurses.
const STACK: usize = 8 << 20;

/// Origins whose schemas stay open where they are silent.
pub(super) type Open = HashSet<Origin>;

pub(super) fn compile(spec: &ToolSpec, open: &Open) -> Result<Ready, BadSchema> {
    let input = if open.contains(&spec.id.origin) {
        Compiled::open_arguments(&spec.input_schema)?
    } else {
        Compiled::arguments(&spec.input_schema)?
    };
    let output = spec.output_schema.as_ref().map(Compiled::any).transpose()?;
    Ok(Ready { input, output })
}

/// The same for many, in their order.
pub(super) fn compile_all(specs: &[ToolSpec], open: &Open) -> Vec<Result<Ready, BadSchema>> {
    let here = |specs: &[ToolSpec]| specs.iter().map(|spec| compile(spec, open)).collect::<Vec<_>>();
    if specs.len() <= WORTH_A_THREAD {
        // Asking how many cores there are reads files.
        return here(specs);
    }
    let cores = thread::available_parallelism().map_or(1, NonZero::get).min(MOST_THREADS);
    let share = specs.len().div_ceil(cores).max(WORTH_A_THREAD);
    let (own, others) = specs.split_at(share);
    thread::scope(|scope| {
        let others: Vec<_> = others
            .chunks(share)
            .map(|specs| {
                let there = thread::Builder::new().stack_size(STACK);
                (specs, there.spawn_scoped(scope, move || here(specs)))
            })
            .collect();
        let mut all = here(own);
        for (specs, there) in others {
            all.extend(match there {
                Ok(there) => there.join().unwrap_or_else(|panic| resume_unwind(panic)),
                // No thread to be had: then here.
                Err(_) => here(specs),
            });
        }
        all
    })
}
