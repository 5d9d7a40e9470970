#!/usr/bin/env bash
# Runs the four tools of compute-sanitizer over the GPU tests of small shapes, which launch every
# kernel. Wants a GPU and compute-sanitizer, a part of the CUDA toolkit.
#
# usage: tools/sanitize-gpu.sh [PROGRAM] (default: the one that make test-gpu builds)
#
# Racecheck warns of kernels that exchange values in clusters: one thread makes an mbarrier and then
# arrives at it (ClusterExchange, kernels/unit.cuh), which is no race. Its errors are what counts.
#
# WHORL_SANITIZE_FILTER replaces the choice of tests, WHORL_SANITIZE_TOOLS that of tools. Each tool
# wants the GPU for itself: beside others each takes as long as all of them in turn. Of random
# circuits 33 of a scheme are run, some of each set, unless WHORL_TEST_CIRCUITS says how many. On an
# H200 racecheck takes ten minutes, the others 20 s each; GTEST_TOTAL_SHARDS and GTEST_SHARD_INDEX
# divide the tests among several runs.
set -uo pipefail

build="${WHORL_BUILD:-$(dirname "$0")/../build/make}"
program="${1:-$build/tests/whorl_tests_gpu}"
filter="${WHORL_SANITIZE_FILTER:-*Small*}"
export WHORL_TEST_CIRCUITS="${WHORL_TEST_CIRCUITS:-33}"
tools="${WHORL_SANITIZE_TOOLS:-memcheck racecheck synccheck initcheck}"
sanitizer=$(command -v compute-sanitizer || ls /usr/local/cuda/bin/compute-sanitizer 2>/dev/null) || {
  echo "compute-sanitizer is not on PATH and not in /usr/local/cuda/bin" >&2
  exit 1
}
[[ -x "$program" ]] || {
  echo "$program is not there; make test-gpu builds it" >&2
  exit 1
}

summary=()
failed=0
for tool in $tools; do
  options=(--tool "$tool" --error-exitcode 9)
  # Freed stream-ordered memory stays in the pool, which is no leak.
  [[ "$tool" == memcheck ]] && options+=(--leak-check no)
  # Racecheck takes 500 s for one circuit of depth 24, whose kernels the others launch too.
  depth=24
  [[ "$tool" == racecheck ]] && depth=6
  begin=$SECONDS
  printf '\n=== %s\n' "$tool"
  WHORL_TEST_CIRCUITS_DEPTH=$depth "$sanitizer" "${options[@]}" "$program" --gtest_filter="$filter"
  status=$?
  case "$status" in
    0) verdict=clean ;;
    77) verdict="FAILED: no GPU" ;;
    *) verdict="FAILED (exit $status)" ;;
  esac
  ((status == 0)) || failed=1
  summary+=("$(printf '%-10s %s, %d s' "$tool" "$verdict" "$((SECONDS - begin))")")
done
printf '\n'
printf '%s\n' "${summary[@]}"
exit "$failed"
