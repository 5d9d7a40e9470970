#!/usr/bin/env bash
# Builds and runs main.cpp with what pkg-config says of an installed Whorl, shared or static.
#
# usage: pkg_config.sh LIBRARIES PROGRAM COMPILER [FLAG …]     LIBRARIES: the folder of libwhorl
set -euo pipefail
libraries="$1" program="$2" compiler=("${@:3}")
export PKG_CONFIG_PATH="$libraries/pkgconfig"
linking=()
[[ -e "$libraries/libwhorl.so" ]] || linking=(--static)
read -ra flags <<<"$(pkg-config --cflags --libs "${linking[@]}" whorl)"
echo "pkg-config ${linking[*]}: ${flags[*]}"
"${compiler[@]}" -std=c++20 "$(dirname "$0")/main.cpp" "${flags[@]}" -o "$program"
LD_LIBRARY_PATH="$libraries" "$program"
