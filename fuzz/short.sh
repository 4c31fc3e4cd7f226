#!/usr/bin/env bash
# A short run of every fuzz target, on the stable compiler: `fuzz/short.sh [SECONDS]`, 20 for each by default.
#
# libFuzzer needs the coverage counters of LLVM and a C++ compiler, and nothing of nightly; the address sanitizer, which
# does, has little to find where `unsafe` is forbidden. For a long run use `cargo +nightly fuzz run TARGET`.
set -euo pipefail
cd "$(dirname "$0")"

seconds="${1:-20}"
if ! command -v "${CXX:-c++}" >/dev/null; then
  echo "error: the fuzz targets need a C++ compiler, and there is none" >&2
  echo "hint: install one (Debian: g++), or name it in CXX." >&2
  exit 1
fi

RUSTC_WRAPPER="$PWD/counted-rustc" cargo build --quiet --release --bins --target-dir target

begun="$(mktemp -d)"
trap 'rm -rf "$begun"' EXIT
for target in anthropic openai_responses openai_chat; do
  mkdir -p "$begun/$target" "artifacts/$target"
  # Real events to begin with, as lines and as SSE: random bytes take long to become any. The first eight say how
  # the stream is cut into chunks.
  for lines in ../crates/tollgate/tests/streams/"$target"*.jsonl; do
    name="$begun/$target/$(basename "$lines" .jsonl)"
    { printf 'tollgate' && cat "$lines"; } >"$name.lines"
    { printf 'tollgate' && sed 's/^/data: /; s/$/\n/' "$lines"; } >"$name.sse"
  done
  echo "fuzzing $target for $seconds s"
  "target/release/$target" "$begun/$target" -max_total_time="$seconds" -timeout=30 -rss_limit_mb=2048 \
    -max_len=16384 -print_final_stats=1 -verbosity=0 -artifact_prefix="artifacts/$target/" >"$begun/log" 2>&1 || {
    tail -60 "$begun/log" >&2
    echo "error: $target broke a rule of fuzz/harness.rs; its input is in fuzz/artifacts/$target" >&2
    echo "hint: fuzz/target/release/$target fuzz/artifacts/$target/FILE runs it again." >&2
    exit 1
  }
  grep 'number_of_executed_units\|new_units_added' "$begun/log"
done
