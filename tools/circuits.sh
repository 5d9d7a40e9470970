#!/usr/bin/env bash
# Random circuits of a scheme by as many processes as there are cores; tests/support/circuits.h says
# how they share the circuits. Shows each process's line and one for all.
#
# usage: tools/circuits.sh SCHEME PROGRAM [CIRCUITS [PROCESSES]]
#
# SCHEME     bgv    100,000 by default: tests/property/schemes/bgv/circuits_test.cpp
#            ckks    10,000 by default: tests/property/circuits/ckks_circuits_test.cpp
#            binfhe  10,000 by default: tests/property/circuits/binfhe/programs_test.cpp
# PROGRAM    whorl_tests_property_schemes for bgv, whorl_tests_property_circuits for ckks and
#            binfhe; or, for bgv and ckks, whorl_tests_gpu, which runs them on every GPU too
# PROCESSES  one a core by default. A GPU's memory is shared: a process takes up to 2 GB of it.
#
# 100,000 of BGV take 35 minutes of CPU time or so; a process with a circuit of depth 24 takes 12 GB
# of the host's memory. 10,000 of CKKS take a minute, as those of FHEW/TFHE do.
set -uo pipefail
usage="usage: tools/circuits.sh bgv|ckks|binfhe PROGRAM [CIRCUITS [PROCESSES]]"
case "${1:?$usage}" in
  bgv) suite='BgvCircuits.*' name=BGV circuits=100000 ;;
  ckks) suite='CkksCircuits.*' name=CKKS circuits=10000 ;;
  binfhe) suite='*/BinfheCircuits.*' name=BINFHE circuits=10000 ;;
  *)
    echo "$usage" >&2
    exit 2
    ;;
esac
program="${2:?$usage}"
circuits="${3:-$circuits}"
count="${4:-$(nproc)}"
logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT

# Lines come as processes end, so that they are there if the others are stopped.
shard() {
  local status=0
  WHORL_TEST_CIRCUITS="$circuits" WHORL_TEST_SHARD="$1/$count" \
    "$program" --gtest_filter="$suite" >"$logs/$1.log" 2>&1 || status=$?
  if ((status != 0)); then
    echo "process $1/$count failed:"
    grep -vE "^\[ +(OK|RUN|SKIPPED) |^$name-CIRCUITS" "$logs/$1.log" | tail -n 60
  fi
  grep "^$name-CIRCUITS" "$logs/$1.log"
  return "$status"
}
running=()
for ((number = 1; number <= count; ++number)); do
  shard "$number" &
  running+=($!)
done
failed=0
for process in "${running[@]}"; do
  wait "$process" || failed=$((failed + 1))
done

# A process that was left with nothing to do has no line; one that died has none either, and failed.
cat "$logs"/*.log | awk -v wanted="$circuits" -v processes="$count" -v failed="$failed" '
  /^[A-Z]+-CIRCUITS/ {
    for (i = 2; i <= NF; ++i) {
      split($i, pair, "=")
      if (pair[1] == "least_slack") {
        if (least == "" || pair[2] + 0 < least) least = pair[2] + 0
      } else if (pair[1] == "seconds") {
        if (pair[2] + 0 > seconds) seconds = pair[2] + 0
      } else sum[pair[1]] += pair[2]
    }
  }
  END {
    bad = sum["wrong"] + sum["differing"] + sum["over_bound"]
    if (sum["circuits"] != wanted) bad += 1
    printf "all: processes=%d failed=%d circuits=%d of %d deep=%d operations=%d dropped=%d ",
      processes, failed, sum["circuits"], wanted, sum["deep"], sum["operations"], sum["dropped"]
    printf "wrong=%d differing=%d over_bound=%d least_slack=%.1f cpu_seconds=%.0f seconds=%.0f: %s\n",
      sum["wrong"], sum["differing"], sum["over_bound"], least, sum["cpu_seconds"], seconds,
      failed + bad == 0 ? "PASSED" : "FAILED"
    exit failed + bad != 0
  }'
