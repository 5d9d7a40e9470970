#!/usr/bin/env bash
# Runs every test, each part to its end even if an earlier one failed, and closes with one line a
# part. Expects tools/setup.sh to have run.
#
# Parts are run through part(), which the next line tells shellcheck.
# shellcheck disable=SC2317
#
# usage: tools/test.sh [full|gpu]        full: also sanitizers, clang, long fuzzing, slow tests,
#                                        for which it fetches torch;
#                                        gpu: the tests of the CUDA backend, on a GPU
set -uo pipefail
cd "$(dirname "$0")/.." || exit

mode="${1:-quick}"
venv="${WHORL_VENV:-.venv}"
build="${WHORL_BUILD:-build/make}"
jobs="${WHORL_JOBS:-$(nproc)}"
fuzz_seconds="${WHORL_FUZZ_SECONDS:-60}"
logs="build/logs"
started=$SECONDS
mkdir -p "$logs"
# tools/setup.sh puts a CMake there if the system's is too old.
if [[ -x "$venv/bin/cmake" ]]; then
  PATH="$(cd "$venv/bin" && pwd):$PATH"
fi
# Else ccache compiles what uses precompiled headers each time.
if command -v ccache >/dev/null && [[ "$(ccache --get-config sloppiness)" != *pch_defines* ]]; then
  export CCACHE_SLOPPINESS=pch_defines,time_macros
fi
summary=()
failed=0

# name, pattern of the closing line, command: runs it, keeps its closing line
part() {
  local name="$1" pattern="$2" closing status
  shift 2
  printf '\n=== %s (%d s since the start)\n' "$name" "$((SECONDS - started))"
  "$@" 2>&1 | tee "$logs/$name.log"
  status=${PIPESTATUS[0]}
  closing=$(grep -E "$pattern" "$logs/$name.log" | tail -n 1)
  ((status == 0)) || {
    failed=1
    closing="FAILED (exit $status) $closing"
  }
  summary+=("$(printf '%-13s %s' "$name" "$closing")")
}

build_cpp() {
  cmake -S . -B "$build" -DWHORL_TESTS=ON >"$logs/configure.log" || {
    tail -n 30 "$logs/configure.log"
    return 1
  }
  cmake --build "$build" -j "$jobs" -- -k 0
}

# arguments: those of pytest. As many tests at once as there are processors.
run_pytest() {
  "$venv/bin/python" -m pytest -n "$jobs" --dist worksteal "$@"
}

run_ctest() {
  ctest --test-dir "$build" -j "$jobs" --output-on-failure --no-tests=error
}

# A GPU test that was left out is a failure here, as nowhere else.
run_gpu() {
  local program="$build/tests/whorl_tests_gpu" status
  if [[ ! -x "$program" ]]; then
    echo "FAILED: no GPU tests were built: $(grep -oE 'CUDA backend: .*' "$logs/configure.log")"
    return 1
  fi
  "$program"
  status=$?
  ((status != 77)) || echo "FAILED: this machine has no GPU to test on"
  return "$status"
}

# What tests of models of torch need: from PyTorch's own index, which has it without CUDA, or else
# from pip's.
supply_torch() {
  local requirements pip=("$venv/bin/python" -m pip install -q --disable-pip-version-check)
  mapfile -t requirements < <("$venv/bin/python" tools/requirements.py torch)
  "${pip[@]}" --index-url https://download.pytorch.org/whl/cpu "${requirements[@]}" ||
    { echo "trying pip's own index" && "${pip[@]}" "${requirements[@]}"; }
  "$venv/bin/python" -c 'import torch; print("torch:", torch.__version__)' || {
    echo "torch: not installed, so pytest leaves out the tests of its models; pip says why above"
    return 1
  }
}

preset() { # configure, build and test one preset
  local name="$1"
  cmake --preset "$name" >"$logs/configure-$name.log" || {
    tail -n 30 "$logs/configure-$name.log"
    return 1
  }
  cmake --build --preset "$name" -j "$jobs" && ctest --preset "$name" -j "$jobs"
}

# The C++ without CUDA, by the system's compiler: some warnings come with an optimisation. Without
# precompiled headers, so that a test that lacks an include does not build.
warnings() {
  local type
  for type in Debug Release RelWithDebInfo MinSizeRel; do
    if ! cmake -S . -B "build/warnings/$type" -G Ninja -DCMAKE_BUILD_TYPE="$type" \
      -DWHORL_WERROR=ON -DWHORL_TESTS=ON -DWHORL_BENCH=OFF -DWHORL_CUDA=OFF \
      -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON \
      >"$logs/configure-$type.log" || ! cmake --build "build/warnings/$type" -j "$jobs"; then
      echo "error: the build type $type has warnings, or does not build"
      return 1
    fi
  done
  echo "no warnings in any build type"
}

if [[ "$mode" == gpu ]]; then
  rm -f "$build/tests/whorl_tests_gpu" # none, if this build leaves CUDA out
  part build 'error:|^\[[0-9]+/[0-9]+\]|no work to do' build_cpp
  part gpu 'PASSED|FAILED' run_gpu
  part pytest '(passed|failed|error).* in ' "$venv/bin/python" -m pytest tests/python/test_gpu.py
  printf '\n=== summary (%d s)\n' "$((SECONDS - started))"
  printf '%s\n' "${summary[@]}"
  exit "$failed"
fi

part build 'error:|^\[[0-9]+/[0-9]+\]|no work to do' build_cpp
part ctest 'tests passed|tests failed' run_ctest
if [[ "$mode" == full ]]; then
  part bgv-circuits 'PASSED|FAILED' tools/circuits.sh bgv \
    "$build/tests/whorl_tests_property_schemes" 100000 "$jobs"
  part ckks-circuits 'PASSED|FAILED' tools/circuits.sh ckks \
    "$build/tests/whorl_tests_property_circuits" 10000 "$jobs"
  part binfhe-circuits 'PASSED|FAILED' tools/circuits.sh binfhe \
    "$build/tests/whorl_tests_property_circuits" 10000 "$jobs"
  part lane-programs 'PASSED|FAILED' "$venv/bin/python" tests/python/lane_programs.py \
    --programs 100000 --processes "$jobs"
  part warnings 'error:|no warnings' warnings
  part clang 'tests passed|tests failed' preset clang
  part shared 'tests passed|tests failed' preset shared
  part asan 'tests passed|tests failed' preset asan
  part tsan 'tests passed|tests failed' preset tsan
  part fuzz 'nothing found|FAILED' tests/fuzz/run.sh "$fuzz_seconds"
  part noise 'PASSED|FAILED' env WHORL_TEST_KEYS=4096 \
    "$build/tests/whorl_tests_noise_schemes" --gtest_filter='RefreshedByProducts.*'
  part large 'PASSED|FAILED' env WHORL_TEST_LARGE=12000 \
    "$build/tests/whorl_tests_property_circuits" --gtest_filter='*LargePrecision.*AgreeWithTheClear*'
  part rotations 'PASSED|FAILED' env WHORL_TEST_BOOTSTRAPS=65536 \
    "$build/tests/whorl_tests_noise_schemes" --gtest_filter='Noise/Rotation*'
  part timing 'constant time:' tests/constant_time/run.sh "$build"
  part timing-clang 'constant time:' tests/constant_time/run.sh build/clang
  part rtl 'rtl:' rtl/test.sh full "$venv" "$jobs"
  part lint 'lint:' tools/lint.sh
  part torch 'torch:' supply_torch
  part pytest '(passed|failed|error).* in ' run_pytest -m ""
else
  part rtl 'rtl:' rtl/test.sh quick "$venv" "$jobs"
  part lint 'lint:' tools/lint.sh --without-clang-tidy
  part pytest '(passed|failed|error).* in ' run_pytest -m "not slow"
fi

printf '\n=== summary (%d s)\n' "$((SECONDS - started))"
printf '%s\n' "${summary[@]}"
exit "$failed"
