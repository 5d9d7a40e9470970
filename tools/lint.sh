#!/usr/bin/env bash
# Checks form: C++ and Python formatting, clang-tidy, ruff, mypy, shellcheck, the direction of
# includes, doc comments, tables of pages, titles of commits. A tool that is absent is a failure, since what it would have found is not known.
# tools/setup.sh test installs them all.
#
# Checks are run through check(), which the next line tells shellcheck.
# shellcheck disable=SC2317
#
# usage: tools/lint.sh [--without-clang-tidy] [--allow-absent]     --allow-absent: they are only named
set -uo pipefail
cd "$(dirname "$0")/.." || exit

with_tidy=true
allow_absent=false
for argument in "$@"; do
  case "$argument" in
    --without-clang-tidy) with_tidy=false ;;
    --allow-absent) allow_absent=true ;;
    *)
      echo "usage: tools/lint.sh [--without-clang-tidy] [--allow-absent]" >&2
      exit 2
      ;;
  esac
done

venv="${WHORL_VENV:-.venv}"
build="${WHORL_BUILD:-build/make}"
jobs="${WHORL_JOBS:-$(nproc)}"
[[ -d "$venv/bin" ]] && PATH="$PWD/$venv/bin:$PATH"
failures=()
absent=()

check() { # name, tool, command
  local name="$1" tool="$2"
  shift 2
  if ! command -v "$tool" >/dev/null; then
    echo "$name: $tool is absent"
    absent+=("$name")
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
for folder in python apps bench rtl; do
  [[ -d "$folder" ]] && python_files+=("$folder")
done

check includes python3 python3 tools/check_includes.py
check prose python3 python3 tools/check_prose.py
check commits python3 python3 tools/check_commits.py
check clang-format clang-format tools/format.sh --check
! $with_tidy || check clang-tidy clang-tidy tidy
check ruff ruff ruff check --quiet "${python_files[@]}"
check ruff-format ruff ruff format --check --quiet "${python_files[@]}"
check mypy mypy mypy
mapfile -t scripts < <(find tools tests bench .ci apps rtl -name '*.sh' -o -path .ci/run)
check shellcheck shellcheck shellcheck "${scripts[@]}"

status=0
if ((${#failures[@]})); then
  echo "lint: failed: ${failures[*]}"
  status=1
fi
if ((${#absent[@]})); then
  echo "lint: not checked, since their tools are absent: ${absent[*]}"
  $allow_absent || status=1
elif ((status == 0)); then
  echo "lint: clean"
fi
exit "$status"
