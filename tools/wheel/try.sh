#!/usr/bin/env bash
# Installs the wheels of a folder into a clean virtual environment of each Python that is found, and
# tries them: how long it takes from the installation to a decrypted gate, and how long an import.
# What is installed is downloaded before.
#
# usage: tools/wheel/try.sh FOLDER
set -euo pipefail
folder="$(cd "$1" && pwd)"
program="$(cd "$(dirname "$0")" && pwd)/try.py"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
cd "$work" # not where a package `whorl` lies

now() { date +%s.%N; }
since() { awk -v a="$1" -v b="$(now)" 'BEGIN { printf "%.1f s", b - a }'; }

tried=0
for python in python3.10 python3.11 python3.12 python3.13; do
  "$python" -c 'import venv' 2>/dev/null || continue
  printf '\n=== %s\n' "$("$python" --version)"
  "$python" -m venv "$python"
  "$python/bin/pip" download -q --disable-pip-version-check --no-deps --no-index \
    --find-links "$folder" -d "$python/wheels" whorl-fhe-runtime 2>/dev/null || {
    echo "there is no wheel for it"
    continue
  }
  "$python/bin/pip" download -q --disable-pip-version-check --find-links "$folder" \
    -d "$python/wheels" "$folder"/whorl_fhe-*.whl
  began=$(now)
  "$python/bin/pip" install -q --disable-pip-version-check --no-index \
    --find-links "$python/wheels" whorl-fhe
  "$python/bin/python" "$program" gate
  printf 'from the installation to a decrypted gate: %s\n' "$(since "$began")"
  "$python/bin/python" "$program"
  "$python/bin/whorl" --version
  "$python/bin/whorl" doctor --device cpu
  "$python/bin/whorl" demo tree -- --flowers 2 --params W128_P128
  tried=$((tried + 1))
done
((tried)) || { echo "error: no Python to try the wheels with" >&2; exit 1; }
