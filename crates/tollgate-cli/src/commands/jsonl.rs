//! `tollgate explain --jsonl`: one explanation per line, in order, however bad the line.

use std::{
    io::{BufRead, BufReader, BufWriter, ErrorKind, Write},
    path::Path,
};

use serde::Serialize;
use tollgate::{
    Effects, Explanation, Foreseen,
    call::MAX_INPUT_BYTES,
    outcome::{Phase, RefusalCode},
    policy::Decision,
    tool::CallId,
};

use super::line::{Bad, Line};
use crate::{
    exit::{Exit, Fault},
    input,
    servers::Servers,
    world::World,
};

/// Room for the largest arguments and what stands around them.
const LONGEST_LINE: usize = MAX_INPUT_BYTES + (64 << 10);

/// An explanation, and which batch the call would run in if the lines were one turn.
#[derive(Serialize)]
struct Planned {
    #[serde(flatten)]
    explanation: Explanation,
    batch: u32,
}

/// Explains every line. A bad one is answered as bad, and the next one is read.
pub(crate) async fn run(file: &Path, world: &World, servers: &Servers) -> Result<Exit, Fault> {
    let mut lines = open(file)?;
    let mut out = BufWriter::with_capacity(1 << 16, std::io::stdout().lock());
    let (mut bytes, mut number) = (Vec::new(), 0);
    let (mut batch, mut shared) = (0, false);
    loop {
        // Whoever feeds us line by line gets the answers line by line.
        if lines.buffer().is_empty() && gone(out.flush())? {
            return Ok(Exit::Done);
        }
        let read =
            next_line(&mut lines, &mut bytes).map_err(|error| Fault::machine("reading the calls", &error))?;
        let Some(size) = read else { break };
        number += 1;
        if size <= LONGEST_LINE && bytes.trim_ascii().is_empty() {
            continue;
        }
        let explanation = servers.explained(explain(&bytes, size, number, world).await);
        let together = explanation.effects.may_run_together();
        // Reads in a row share a batch; anything else has one of its own.
        batch += u32::from(!(together && shared));
        shared = together;
        let planned = Planned { explanation, batch };
        let written = serde_json::to_writer(&mut out, &planned).map_err(std::io::Error::from);
        if gone(written.and_then(|()| out.write_all(b"\n")))? {
            return Ok(Exit::Done);
        }
    }
    gone(out.flush())?;
    Ok(Exit::Done)
}

async fn explain(bytes: &[u8], size: usize, number: usize, world: &World) -> Explanation {
    let (line, bad) = Line::read(bytes);
    let id = line.id.clone().unwrap_or_else(|| format!("line-{number}"));
    let too_long = || Bad::too_large(size, LONGEST_LINE);
    match if size > LONGEST_LINE { Some(too_long()) } else { bad } {
        Some(bad) => refused(&id, line.tool.as_deref().unwrap_or_default(), bad),
        None => world.gate.explain(&world.scope, line.propose(&id)).await,
    }
}

/// The answer for a line that is no call.
fn refused(id: &str, tool: &str, bad: Bad) -> Explanation {
    let phase = if bad.code == RefusalCode::ProtocolError { Phase::Resolve } else { Phase::Validate };
    Explanation {
        id: CallId::new(id),
        tool: tool.into(),
        status: Foreseen::Refused,
        phase,
        code: Some(bad.code),
        effects: Effects::worst(),
        decision: Decision::Deny,
        rule: None,
        reason: Some(bad.reason),
        hint: Some("Each line is one object: {\"id\": …, \"tool\": …, \"input\": {…}}.".to_owned()),
        hooks: Vec::new(),
    }
}

fn open(file: &Path) -> Result<BufReader<Box<dyn std::io::Read>>, Fault> {
    let source: Box<dyn std::io::Read> = if file == Path::new("-") {
        input::tell_typing();
        Box::new(std::io::stdin().lock())
    } else {
        let open = std::fs::File::open(file).map_err(|error| {
            let message = format!("the calls in {} cannot be read: {error}", file.display());
            Fault::usage(message, "give --jsonl a file that can be read, or `-` for stdin.")
        })?;
        Box::new(open)
    };
    Ok(BufReader::with_capacity(1 << 16, source))
}

/// The next line into `bytes`, without its end, and how long it is; of one that is too long only the beginning is
/// kept. `None` at the end.
fn next_line(lines: &mut impl BufRead, bytes: &mut Vec<u8>) -> std::io::Result<Option<usize>> {
    bytes.clear();
    let mut size = 0;
    loop {
        let chunk = match lines.fill_buf() {
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            chunk => chunk?,
        };
        if chunk.is_empty() {
            return Ok((size > 0).then_some(size));
        }
        let end = chunk.iter().position(|byte| *byte == b'\n');
        let part = &chunk[..end.unwrap_or(chunk.len())];
        let room = LONGEST_LINE.saturating_sub(bytes.len());
        bytes.extend_from_slice(&part[..part.len().min(room)]);
        size += part.len();
        let used = part.len() + usize::from(end.is_some());
        lines.consume(used);
        if end.is_some() {
            return Ok(Some(size));
        }
    }
}

/// True when nobody reads the answers any more.
fn gone(written: std::io::Result<()>) -> Result<bool, Fault> {
    match written {
        Ok(()) => Ok(false),
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(true),
        Err(error) => Err(Fault::machine("writing to stdout", &error)),
    }
}
