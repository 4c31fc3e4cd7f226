//! What must hold for any bytes that come as a stream. Used by the fuzz targets and by an ordinary test.

use serde_json::{Value, json};
use tollgate::wire::{ModelTurn, Provider, TurnReader, check, read_turn, repair};

/// Reads the bytes in one piece and in chunks; the first bytes say which. Panics where a rule is broken.
pub(crate) fn survives(provider: Provider, bytes: &[u8]) {
    let (seed, stream) = bytes.split_at(bytes.len().min(8));
    let mut random =
        seed.iter().fold(0x9E37_79B9_7F4A_7C15, |bits: u64, byte| bits.rotate_left(8) ^ u64::from(*byte));
    let whole = read(provider, [stream].into_iter());
    let mut rest = stream;
    let mut chunks = Vec::new();
    while !rest.is_empty() {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        let size = (random % 24) as usize + 1;
        let (chunk, more) = rest.split_at(size.min(rest.len()));
        chunks.push(chunk);
        rest = more;
    }
    assert_eq!(read(provider, chunks.into_iter()), whole, "other chunks, another turn");
    is_sound(provider, whole);
    // The same bytes as a whole body: whatever they are, they are an answer or an error.
    if let Ok(turn) = read_turn(provider, stream) {
        is_sound(provider, turn);
    }
}

fn read<'a>(provider: Provider, chunks: impl Iterator<Item = &'a [u8]>) -> ModelTurn {
    let mut reader = TurnReader::new(provider);
    for chunk in chunks {
        reader.push(chunk);
    }
    reader.finish()
}

fn is_sound(provider: Provider, turn: ModelTurn) {
    if turn.stop.is_cut() {
        assert!(turn.calls.iter().all(|call| call.fault().is_some()), "a cut turn would run a call");
    }
    assert!(turn.calls.iter().all(|call| !call.id.as_str().is_empty()), "a call that cannot be answered");
    let mut history = vec![json!({"role": "user", "content": "Go on."})];
    match turn.message {
        Value::Array(items) => history.extend(items),
        message => history.push(message),
    }
    repair(provider, &mut history);
    let faults = check(provider, &history);
    assert!(faults.is_empty(), "{faults:?}");
    let repaired = history.clone();
    let again = repair(provider, &mut history);
    assert!(again.is_clean() && history == repaired, "a second repair changed something: {again:?}");
}
