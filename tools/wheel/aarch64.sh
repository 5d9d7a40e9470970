#!/usr/bin/env bash
# What a machine of x86-64 needs to make the wheel for AArch64 and CPython 3.11, and to try it.
#
# usage: tools/wheel/aarch64.sh root FOLDER         packages of Debian for AArch64, in FOLDER/root
#        tools/wheel/aarch64.sh try FOLDER WHEELS   a gate, a product of BGV and of CKKS, known answers
#
# It runs on Debian 12 with g++-aarch64-linux-gnu and qemu-user-static, after
# `dpkg --add-architecture arm64` and `apt-get update`.
set -euo pipefail
what="$1" folder="$2"
root="$folder/root"
libraries="$root/usr/lib/aarch64-linux-gnu"

emulated() { qemu-aarch64-static -L "$root" "$@"; }

# The interpreter with what it links, and what the library links.
unpack_packages() {
  local name packages=()
  for name in libc6 libgcc-s1 libstdc++6 zlib1g libexpat1 libffi8 libbz2-1.0 liblzma5 libssl3 \
    libuuid1 python3.11-minimal libpython3.11-minimal libpython3.11-stdlib libpython3.11-dev \
    libhwy1 libhwy-dev libsodium-dev libgtest-dev; do
    packages+=("$name:arm64")
  done
  mkdir -p "$folder/packages" "$root"
  (cd "$folder/packages" && apt-get download -qq "${packages[@]}")
  for name in "$folder"/packages/*.deb; do
    dpkg-deb -x "$name" "$root"
  done
  rm "$libraries"/libsodium.so* # so that its archive is linked
  cp "$root/usr/include/aarch64-linux-gnu/python3.11/pyconfig.h" "$root/usr/include/python3.11"
  sed -i "s#^prefix=.*#prefix=$root/usr#" "$libraries"/pkgconfig/*.pc
}

try_wheel() { # folder of wheels
  local version platforms=()
  for version in {17..28}; do
    platforms+=(--platform "manylinux_2_${version}_aarch64")
  done
  rm -rf "$folder/site"
  python3.11 -m pip install -q --disable-pip-version-check --target "$folder/site" \
    "${platforms[@]}" --python-version 3.11 --only-binary :all: --find-links "$1" \
    "$1"/whorl_fhe-*.whl
  PYTHONPATH="$folder/site" emulated "$root/usr/bin/python3.11" tools/wheel/try.py
}

# The tests whose answers other programs gave: the stream of ChaCha20, and gates of tests/kat.
try_known_answers() {
  local flags=()
  read -ra flags < <(pkg-config --cflags --libs libhwy libsodium)
  aarch64-linux-gnu-g++ -std=gnu++20 -O1 -march=armv8-a+crypto -DWHORL_SOURCE_DIR="\"$PWD\"" \
    -Itests -Isrc -Iinclude -isystem "$root/usr/include" -o "$folder/known_answers" \
    tests/unit/math/random_test.cpp tests/unit/schemes/binfhe/kat_test.cpp \
    tests/support/targets.cpp "$folder/runtime/libwhorl.a" "$libraries"/libgtest{_main,}.a \
    "${flags[@]}" -pthread -ldl
  emulated "$folder/known_answers" --gtest_brief=1
}

export PKG_CONFIG_LIBDIR="$libraries/pkgconfig" PKG_CONFIG_PATH=
case "$what" in
  root) [[ -e "$libraries/libsodium.a" ]] || unpack_packages ;;
  try)
    try_wheel "$3"
    try_known_answers
    ;;
esac
