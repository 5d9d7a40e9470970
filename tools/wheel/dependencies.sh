#!/usr/bin/env bash
# Compiles the libraries that wheels contain, static, from their Git tags: for images such as
# manylinux_2_28, whose packages are too old or absent. The commits are checked.
#
# usage: tools/wheel/dependencies.sh [PREFIX]        /usr/local, if none is named
set -euo pipefail

prefix="${1:-/usr/local}"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
jobs="$(nproc)"

# repository, tag, commit, folder: that commit in the folder, or an error
clone() {
  local found
  git -c advice.detachedHead=false clone -q --depth 1 --branch "$2" "$1" "$work/$4"
  found="$(git -C "$work/$4" rev-parse HEAD)"
  [[ "$found" == "$3" ]] || {
    echo "error: tag $2 of $1 is commit $found, not $3" >&2
    exit 1
  }
}

clone https://github.com/google/highway 1.0.3 58746ca5b9f9444a2a3549704602ecc6239f8f41 highway
cmake -S "$work/highway" -B "$work/highway/build" -DCMAKE_BUILD_TYPE=Release \
  -DCMAKE_INSTALL_PREFIX="$prefix" -DCMAKE_INSTALL_LIBDIR=lib -DBUILD_SHARED_LIBS=OFF \
  -DCMAKE_POSITION_INDEPENDENT_CODE=ON -DBUILD_TESTING=OFF -DHWY_ENABLE_EXAMPLES=OFF \
  -DHWY_ENABLE_CONTRIB=OFF -DHWY_ENABLE_TESTS=OFF -DCMAKE_POLICY_VERSION_MINIMUM=3.10
cmake --build "$work/highway/build" -j "$jobs"
cmake --install "$work/highway/build"

clone https://github.com/jedisct1/libsodium 1.0.18-RELEASE \
  940ef42797baa0278df6b7fd9e67c7590f87744b libsodium
cd "$work/libsodium"
./configure --prefix="$prefix" --libdir="$prefix/lib" --disable-shared --enable-static --with-pic
make -j "$jobs"
make install
