#!/usr/bin/env bash
# Writes `start.txt`, the functions that `tollgate --version` and a call of a mock run, for `build.rs` to put them together:
# `crates/tollgate-cli/start.sh`. A list that is out of date costs a little of every start, and nothing else.
#
# It builds the program with its symbols in the place of the released one, and watches it with valgrind.
set -euo pipefail
cd "$(dirname "$0")"

if ! command -v valgrind >/dev/null; then
  echo "error: the functions of a start are found with valgrind, and there is none" >&2
  echo "hint: install it (Debian: valgrind)." >&2
  exit 1
fi

cargo build --release -p tollgate-cli --config 'profile.release.package.tollgate-cli.strip=false'
target="$(realpath "${CARGO_TARGET_DIR:-../../target}")"

seen="$(mktemp -d)"
trap 'rm -rf "$seen"' EXIT
cat >"$seen/mocks.json" <<'MOCKS'
{"tools": [
  {"name": "quick", "description": "Answers.", "input_schema": {"type": "object"}, "effects": {"read_only": true}},
  {"name": "slow", "description": "Answers later.", "input_schema": {"type": "object"},
   "effects": {"read_only": true}, "answers": [{"ok": {}, "delay_ms": 300}]}]}
MOCKS
watch() {
  (cd "$seen" && env -i HOME="$seen" "$(command -v valgrind)" --quiet --tool=callgrind --demangle=no \
    --callgrind-out-file="$seen/%p.calls" "$target/release/tollgate" "$@" >/dev/null)
}
watch --version
watch call quick '{}' --mocks mocks.json --allow '*' --no-store

# What differs from one compiler to the next becomes a `*`: the hash at the end of a name, and that of a crate.
{
  echo "# The functions a start runs, as the linker knows them. Written by start.sh."
  sed -nE "s/^c?fn=\([0-9]+\) (_ZN|_R)/\1/p" "$seen"/*.calls |
    sed -E "s/'[0-9]+\$//; s/\.llvm\.[0-9]+\$//; s/17h[0-9a-f]{16}E.*/17h*/; /^_R/{s/Cs[0-9A-Za-z]+_/Cs*_/g; s/\$/*/}" |
    LC_ALL=C sort -u
} >"$seen/start.txt"
mv "$seen/start.txt" start.txt
echo "$(wc -l <start.txt) lines in start.txt"
