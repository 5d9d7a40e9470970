#!/usr/bin/env bash
# Checks form: C++ and Python formatting, clang-tidy, ruff, mypy, shellcheck, the direction of
# includes, doc comments, tables of pages, titles of commits. A tool that is absent is a failure,
# since what it would have found is not known. tools/setup.sh test installs them all.
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
  # clang cannot read the headers that gcc has precompiled.
  local commands="build/clang-tidy"
  mkdir -p "$commands"
  sed -E 's/ -Winvalid-pch -include [^ ]*cmake_pch\.hxx|-fpch-preprocess//g' \
    "$build/compile_commands.json" >"$commands/compile_commands.json"
  # What was compiled: without nvcc, nothing of CUDA, and of bench and tests what is not left out.
  python3 - "$commands/compile_commands.json" <<'LIST' | xargs -0 -n 1 -P "$jobs" clang-tidy -p "$commands" --quiet
import json, os, sys
with open(sys.argv[1], encoding="utf-8") as file:
    entries = json.load(file)
files = {os.path.relpath(os.path.join(entry["directory"], entry["file"])) for entry in entries}
folders = ("src/", "python/src/", "bench/", "tests/")
print(*sorted(f for f in files if f.startswith(folders) and f.endswith(".cpp")), sep="\0", end="")
LIST
}

# The package strictly, with the stubs of its modules, which building them has installed. Of the
# rest, functions may lack types. In tests nothing counts as unreachable: mypy takes what follows
# `assert x.bounds == (0, 8)` for that, since the numbers of x are floats. `common` is a package of
# apps and another of bench; workers of peers run in Pythons of their own.
types() {
  local loose=(--explicit-package-bases --allow-untyped-defs --allow-incomplete-defs
    --allow-untyped-calls --no-warn-return-any --implicit-reexport) status=0
  compgen -G "$venv/lib/python*/site-packages/whorl/_server/__init__.pyi" >/dev/null || {
    echo "mypy: whorl is not installed in $venv, and so has no stubs; run tools/setup.sh test first"
    return 1
  }
  mypy || status=1
  MYPYPATH=apps:tools/params:tools/docs:tools/wheel mypy "${loose[@]}" apps tools || status=1
  MYPYPATH=bench mypy "${loose[@]}" --exclude '_worker\.py$' bench || status=1
  MYPYPATH=tests/python:apps:tools/params:tools/docs mypy "${loose[@]}" --no-warn-unreachable \
    tests || status=1
  return "$status"
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
check mypy mypy types
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
