#!/usr/bin/env bash
# Formats every C++ file, or with --check names those that would change.
set -euo pipefail
cd "$(dirname "$0")/.."

folders=()
for folder in include src python/src tests bench; do
  [[ -d "$folder" ]] && folders+=("$folder")
done
mapfile -t files < <(find "${folders[@]}" -name '*.h' -o -name '*.cpp' -o -name '*.cu' -o -name '*.cuh')

if [[ "${1:-}" != --check ]]; then
  clang-format --style=file -i "${files[@]}"
  exit
fi
mapfile -t unformatted < <(clang-format --style=file --dry-run "${files[@]}" 2>&1 |
  sed -nE 's/^([^:]+):[0-9]+:[0-9]+: warning: code should be clang-formatted.*/\1/p' | sort -u)
if ((${#unformatted[@]})); then
  printf 'not formatted (make format does it): %s\n' "${unformatted[@]}"
  exit 1
fi
