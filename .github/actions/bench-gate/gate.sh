#!/usr/bin/env bash
# Is head slower than base? Runs the gate in the current folder, the root of a git checkout, and ends with its exit code:
# 0 pass or improvement, 1 tool error, 2 regression, 3 inconclusive or not measured, 64 usage.
#
#   BENCH_GATE_BASE=main BENCH_GATE_HEAD=my-branch path/to/gate.sh
#
# Everything is taken from the environment:
#   BENCH_GATE_BASE, BENCH_GATE_HEAD   commits, branches or tags (head is compared with where it left base), or executables
#   BENCH_GATE_CONFIG                  the gate's file; empty: what bench-runner finds by itself
#   BENCH_GATE_BUDGET                  time for measuring, without building; empty: 20m
#   BENCH_GATE_OUT                     folder of gate.json, junit.xml, comment.md; empty: target/bench-gate
#   BENCH_GATE_RUNNER                  a bench-runner; empty: built with cargo from the checkout that this file is in
#   BENCH_GATE_RUNNER_VERSION          the version it must have, as 0.3.0; empty: any
#   BENCH_GATE_SEED                    seed of order, keys and intervals; empty: drawn
#   BENCH_GATE_ONLY                    keys of scenarios, with spaces between; empty: all
#   BENCH_GATE_MEASURE_IDENTICAL       1: measure also where base and head are the same bytes, to count false alarms
set -euo pipefail

fail() { printf 'bench-gate: %s\n' "$1" >&2; exit "${2:-64}"; }

base=${BENCH_GATE_BASE:-} head=${BENCH_GATE_HEAD:-}
[ -n "$base" ] && [ -n "$head" ] || fail "BENCH_GATE_BASE and BENCH_GATE_HEAD are needed; the first lines of ${BASH_SOURCE[0]} say more"
command -v jq >/dev/null || fail "jq is not installed; it reads the verdict" 1

is_program() { [ -f "$1" ] && [ -x "$1" ]; }
commit() {
  git rev-parse --verify --quiet --end-of-options "$1^{commit}" ||
    fail "'$1' is neither a commit of this repository nor an executable; a checkout for the gate needs 'fetch-depth: 0'" 1
}
is_program "$head" || head=$(commit "$head")
if ! is_program "$base"; then
  base=$(commit "$base")
  # What others did on base since is not the change's doing.
  if ! is_program "$head"; then
    base=$(git merge-base "$base" "$head") || fail "base and head have no common commit here; check out with 'fetch-depth: 0'" 1
  fi
fi

runner=${BENCH_GATE_RUNNER:-}
if [ -z "$runner" ]; then
  source=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../.." && pwd)
  command -v cargo >/dev/null || fail "cargo is not installed: it builds the bench-runner (https://rustup.rs)" 1
  echo "bench-gate: building the bench-runner" >&2
  target=${CARGO_TARGET_DIR:-$source/target}
  # From its own folder: a toolchain file or cargo configuration of the guarded repository is not for it.
  (cd "$source" && cargo build --locked --release --quiet --target-dir "$target" -p plumbkv-bench-runner) || fail "the bench-runner could not be built" 1
  runner=$target/release/bench-runner
fi
version=$("$runner" --version) || fail "'$runner' does not run" 1
want=${BENCH_GATE_RUNNER_VERSION:-}
[ -z "$want" ] || [ "$version" = "bench-runner $want" ] || fail "the runner is '$version', not 'bench-runner $want'" 1

out=${BENCH_GATE_OUT:-target/bench-gate}
mkdir -p "$out"
# What an earlier gate left must not be taken for this one's verdict.
rm -f "$out/gate.json" "$out/junit.xml" "$out/comment.md"
options=(--base "$base" --head "$head" --budget "${BENCH_GATE_BUDGET:-20m}" --out "$out")
[ -z "${BENCH_GATE_CONFIG:-}" ] || options+=(--config "$BENCH_GATE_CONFIG")
[ -z "${BENCH_GATE_SEED:-}" ] || options+=(--seed "$BENCH_GATE_SEED")
[ -z "${BENCH_GATE_MEASURE_IDENTICAL:-}" ] || options+=(--measure-identical)
for scenario in ${BENCH_GATE_ONLY:-}; do options+=(--only "$scenario"); done

code=0
"$runner" gate "${options[@]}" || code=$?

outcome=not_measured identical=no
if [ -f "$out/gate.json" ]; then
  outcome=$(jq -r .outcome "$out/gate.json")
  [ "$(jq '.reason | startswith("identical build")' "$out/gate.json")" != true ] || identical=yes
  case $outcome in
    pass | improvement | regression | inconclusive | not_measured) ;;
    *) fail "$out/gate.json holds no known outcome" 1 ;;
  esac
elif [ "$code" -eq 0 ]; then
  fail "the runner ended well but wrote no $out/gate.json" 1
fi
if [ -n "${GITHUB_OUTPUT:-}" ]; then
  printf 'outcome=%s\nidentical=%s\nreport=%s\n' "$outcome" "$identical" "$out/comment.md" >>"$GITHUB_OUTPUT"
fi
if [ -n "${GITHUB_STEP_SUMMARY:-}" ] && [ -f "$out/comment.md" ]; then cat "$out/comment.md" >>"$GITHUB_STEP_SUMMARY"; fi
echo "bench-gate: ${outcome//_/ } (exit code $code); $out/gate.json" >&2
exit "$code"
