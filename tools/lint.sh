#!/usr/bin/env bash
# Checks form: C++ and Python formatting, clang-tidy, ruff, mypy, the direction of includes. A tool
# that is absent is named and skipped.
#
# usage: tools/lint.sh [--without-clang-tidy]
set -uo pipefail
cd "$(dirname "$0")/.." || exit

venv="${WHORL_VENV:-.venv}"
build="${WHORL_BUILD:-build/make}"
jobs="${WHORL_JOBS:-$(nproc)}"
[[ -d "$venv/bin" ]] && PATH="$PWD/$venv/bin:$PATH"
failures=()

check() { # name, tool, command
  local name="$1" tool="$2"
  shift 2
  if ! command -v "$tool" >/dev/null; then
    echo "$name: $tool is absent; skipped"
    return
  fi
  "$@" || failures+=("$name")
}

tidy() {
  [[ -f "$build/compile_commands.json" ]] || {
    echo "clang-tidy: $build/compile_commands.json is absent; run make test first"
    return 1
  }
  # What was compiled: without nvcc, nothing of src/backend/cuda.
  local cuda=()
  grep -q 'src/backend/cuda/' "$build/compile_commands.json" || cuda=(-not -path 'src/backend/cuda/*')
  find src -name '*.cpp' "${cuda[@]}" -print0 | xargs -0 -n 1 -P "$jobs" clang-tidy -p "$build" --quiet
}

python_files=(tools tests)
for folder in python apps bench; do
  [[ -d "$folder" ]] && python_files+=("$folder")
done

check includes python3 python3 tools/check_includes.py
check clang-format clang-format tools/format.sh --check
[[ "${1:-}" == --without-clang-tidy ]] || check clang-tidy clang-tidy tidy
check ruff ruff ruff check --quiet "${python_files[@]}"
check ruff-format ruff ruff format --check --quiet "${python_files[@]}"
check mypy mypy mypy

if ((${#failures[@]})); then
  echo "lint: failed: ${failures[*]}"
  exit 1
fi
echo "lint: clean"
