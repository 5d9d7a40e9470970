#!/usr/bin/env bash
# Looks for branches and addresses that depend on secrets, with valgrind: see secrets.cpp.
#
# usage: tests/constant_time/run.sh [build folder, default build/make]
set -uo pipefail
cd "$(dirname "$0")/../.." || exit

program="${1:-build/make}/tests/whorl_tests_constant_time"
if ! command -v valgrind >/dev/null || [[ ! -x "$program" ]]; then
  echo "constant time: FAILED: valgrind (Debian: valgrind) and a build with its headers are needed"
  exit 1
fi

check() { # what to do: memcheck's exit status is 9 if it found something
  valgrind --quiet --error-exitcode=9 --leak-check=no --undef-value-errors=yes \
    --suppressions=tests/constant_time/declassified.supp "$program" "$@"
}

check leak >/dev/null 2>&1
if (($? != 9)); then
  echo "constant time: FAILED: a branch on a secret was not found"
  exit 1
fi
if ! check; then
  echo "constant time: FAILED: a branch or an address depends on a secret, or a result is wrong"
  exit 1
fi
echo "constant time: no branch and no address depends on a secret"
