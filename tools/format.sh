#!/usr/bin/env bash
# Formats every C++ file, or with --check says which would change.
set -euo pipefail
cd "$(dirname "$0")/.."

mode=(-i)
[[ "${1:-}" == --check ]] && mode=(--dry-run -Werror)
folders=()
for folder in include src python/src tests bench; do
  [[ -d "$folder" ]] && folders+=("$folder")
done
find "${folders[@]}" \( -name '*.h' -o -name '*.cpp' -o -name '*.cu' -o -name '*.cuh' \) -print0 |
  xargs -0 -r clang-format --style=file "${mode[@]}"
