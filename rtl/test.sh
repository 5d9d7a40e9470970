#!/usr/bin/env bash
# Tests the accelerator, each step to its end even if an earlier one failed: Verilator's and slang's
# lint, benches in C++, cocotb, proofs; in full also the model against random cores (which takes
# the C++ tests of WHORL_BUILD), the server on the simulated core, coverage, and mutations. SEED
# repeats a run; without it all benches and tests have other random numbers each time. Ends with a
# line that begins with `rtl:`.
#
# usage: rtl/test.sh [quick|full] [VENV] [JOBS]    VENV has the packages of the group `rtl` of
#                                                  pyproject.toml (tools/setup.sh test)
set -uo pipefail
cd "$(dirname "$0")/.." || exit

mode="${1:-quick}"
venv="$(realpath "${2:-.venv}")"
jobs="${3:-$(nproc)}"
python="$venv/bin/python"
started=$SECONDS
failures=()
# Objects that were compiled before come from the cache, where there is one.
if command -v ccache >/dev/null; then
  export OBJCACHE=ccache
fi
VERILATOR_ROOT="$("$python" -c 'import os, verilator; print(os.path.dirname(verilator.__file__))')" || {
  echo "rtl: FAILED: no verilator in $venv; run tools/setup.sh test"
  exit 1
}
export VERILATOR_ROOT

step() { # name, command
  local name="$1"
  shift
  printf -- '--- rtl: %s (%d s)\n' "$name" "$((SECONDS - started))"
  "$@" || failures+=("$name")
}

seed="${SEED:-$((RANDOM * 32768 + RANDOM))}"
printf 'rtl: SEED=%s\n' "$seed"
test="${WHORL_BUILD:-build/make}/tests/whorl_tests_unit_backend"

# Gates and tables by device="rtl", from Python, with set (I), m = 2.
simulated_server() {
  make --no-print-directory -C rtl/sim -f library.mk JOBS="$jobs" OUT=build/server/whorl_rtl_core.so &&
    WHORL_RTL_CORE="$PWD/rtl/sim/build/server/whorl_rtl_core.so" \
      "$python" -m pytest -q tests/python/binfhe/test_rtl.py -k simulated
}

step slang "$python" rtl/sim/slang_lint.py
if [[ "$mode" == full ]]; then
  step benches make --no-print-directory -C rtl/sim -j "$jobs" test-full SEED="$seed"
  step cocotb "$python" rtl/cocotb/run.py --seed "$seed"
  step configurations "$python" rtl/sim/configurations.py --shapes 12 --seed "$seed" --test "$test"
  step sets "$python" rtl/sim/configurations.py --sets --runs 2 --test "$test"
  step server simulated_server
  step coverage "$python" rtl/sim/coverage.py --run --jobs "$jobs"
  step proofs "$python" rtl/proof/run.py
  step mutations "$python" rtl/proof/run.py --mutate
else
  step benches make --no-print-directory -C rtl/sim -j "$jobs" test-quick SEED="$seed"
  step cocotb "$python" rtl/cocotb/run.py --quick --seed "$seed"
  step configurations "$python" rtl/sim/configurations.py --shapes 1 --seed "$seed" --test "$test"
  step proofs "$python" rtl/proof/run.py --quick
fi

if ((${#failures[@]})); then
  echo "rtl: FAILED: ${failures[*]} ($((SECONDS - started)) s)"
  exit 1
fi
echo "rtl: passed, $mode ($((SECONDS - started)) s)"
