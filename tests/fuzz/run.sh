#!/usr/bin/env bash
# Builds the fuzz targets with clang, libFuzzer and sanitizers, and runs each of them for a while.
# What they find is kept in build/fuzz/findings, what they learn in build/fuzz/corpus.
#
# usage: tests/fuzz/run.sh [seconds a target, default 20] [target]...
set -euo pipefail
cd "$(dirname "$0")/../.."

seconds="${1:-20}"
shift || true
jobs="${WHORL_JOBS:-$(nproc)}"
build="${WHORL_FUZZ_BUILD:-build/fuzz}"

# fuzzer-no-link: the library itself must be instrumented, else the fuzzer sees no coverage.
cmake --preset fuzz -B "$build" -DWHORL_SANITIZE=address,undefined,fuzzer-no-link >/dev/null
cmake --build "$build" -j "$jobs"

if (($# == 0)); then
  for source in tests/fuzz/*.cpp; do
    set -- "$@" "$(basename "$source" .cpp)"
  done
fi

run_one() { # target
  mkdir -p "$build/corpus/$1" "$build/findings"
  if ! "$build/fuzz/fuzz_$1" -max_total_time="$seconds" -timeout=20 -rss_limit_mb=2048 \
    -print_final_stats=1 -artifact_prefix="$build/findings/$1-" "$build/corpus/$1" \
    >"$build/$1.log" 2>&1; then
    echo "$1: FAILED, see $build/$1.log and $build/findings"
    tail -n 30 "$build/$1.log"
    return 1
  fi
  echo "$1: $(grep -o 'number_of_executed_units: *[0-9]*' "$build/$1.log" | grep -o '[0-9]*$') inputs, $(grep -oE 'cov: [0-9]+' "$build/$1.log" | tail -n 1), nothing found in $seconds s"
}
export -f run_one
export build seconds

printf '%s\n' "$@" | xargs -P "$jobs" -I{} bash -c 'run_one {}'
