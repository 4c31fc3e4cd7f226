//! The rules of the fuzz targets, on streams that were damaged at random, the same ones every time.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "../../../fuzz/harness.rs"]
mod harness;

use tollgate::wire::Provider;

/// For each provider.
const ROUNDS: usize = 7_000;

/// Streams as providers send them, one event a line.
fn seeds(provider: Provider) -> Vec<String> {
    let files: &[&str] = match provider {
        Provider::Anthropic => &[include_str!("streams/anthropic.jsonl")],
        Provider::OpenAiResponses => &[include_str!("streams/openai_responses.jsonl")],
        Provider::OpenAiChat => {
            &[include_str!("streams/openai_chat.jsonl"), include_str!("streams/openai_chat_odd.jsonl")]
        }
    };
    let sse = |lines: &str| lines.lines().flat_map(|line| ["data: ", line, "\n\n"]).collect::<String>();
    files
        .iter()
        .flat_map(|lines| [sse(lines), (*lines).to_owned(), sse(lines).replace('\n', "\r\n")])
        .collect()
}

struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % limit.max(1) as u64).unwrap()
    }
}

/// What makes trouble in JSON and in streams.
const SPICE: [&[u8]; 24] = [
    b"\"",
    b"\\",
    b"{",
    b"}",
    b"[",
    b"]",
    b",",
    b":",
    b"\n",
    b"\r",
    b"\n\n",
    b"null",
    b"0",
    b"-1",
    b"1e9",
    b"true",
    b"\xC0\xAF",
    b"\xEF\xBB\xBF",
    b"\\ud800",
    b"data: ",
    b"event: error\n",
    b"\"error\":{},",
    b"\"index\":1,",
    b"{}",
];

fn damage(bytes: &mut Vec<u8>, random: &mut Random) {
    for _ in 0..=random.below(4) {
        let at = random.below(bytes.len());
        let end = (at + random.below(40)).min(bytes.len());
        match random.below(7) {
            0 => bytes.truncate(at),
            1 => drop(bytes.drain(at..end)),
            2 => bytes[at] = u8::try_from(random.below(256)).unwrap(),
            3 => drop(bytes.splice(at..at, SPICE[random.below(SPICE.len())].iter().copied())),
            4 => drop(bytes.splice(at..end, SPICE[random.below(SPICE.len())].iter().copied())),
            5 => {
                let copy = bytes[at..end].to_vec();
                let to = random.below(bytes.len());
                bytes.splice(to..to, copy);
            }
            _ => swap_lines(bytes, random),
        }
        if bytes.is_empty() {
            return;
        }
    }
}

fn swap_lines(bytes: &mut Vec<u8>, random: &mut Random) {
    let mut lines: Vec<&[u8]> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
    let (one, other) = (random.below(lines.len()), random.below(lines.len()));
    lines.swap(one, other);
    *bytes = lines.concat();
}

fn no_damage_breaks_a_rule(provider: Provider) {
    let seeds = seeds(provider);
    let mut random = Random(0x2545_F491_4F6C_DD1D);
    for round in 0..ROUNDS {
        let mut bytes = u64::try_from(round).unwrap().to_le_bytes().to_vec();
        let mut stream = seeds[random.below(seeds.len())].clone().into_bytes();
        damage(&mut stream, &mut random);
        bytes.extend(stream);
        harness::survives(provider, &bytes);
    }
}

#[test]
fn no_damage_to_an_anthropic_stream_breaks_a_rule() {
    no_damage_breaks_a_rule(Provider::Anthropic);
}

#[test]
fn no_damage_to_a_responses_stream_breaks_a_rule() {
    no_damage_breaks_a_rule(Provider::OpenAiResponses);
}

#[test]
fn no_damage_to_a_chat_stream_breaks_a_rule() {
    no_damage_breaks_a_rule(Provider::OpenAiChat);
}
