#!/usr/bin/env bash
# Tries the wheels on a system older than the one that built them: Debian 11, of 2021, with glibc
# 2.31, and a CPython that is compiled there once, in some minutes. It needs root and debootstrap.
#
# usage: tools/wheel/try_old.sh FOLDER          of wheels
set -euo pipefail
wheels="$(cd "$1" && pwd)"
cd "$(dirname "$0")/../.."
root="$PWD/build/wheel/debian11"
mirror=http://deb.debian.org/debian

if [[ ! -x "$root/usr/local/bin/python3.13" ]]; then
  debootstrap --variant=minbase --include=gcc,libc6-dev,make,zlib1g-dev,libffi-dev,xz-utils \
    bullseye "$root" "$mirror" >"$root.log"
  curl -fsSo "$root/source.tar.xz" "$mirror/pool/main/p/python3.13/python3.13_3.13.5.orig.tar.xz"
  sha256sum --quiet -c - \
    <<<"93e583f243454e6e9e4588ca2c2662206ad961659863277afcdb96801647d640  $root/source.tar.xz"
  chroot "$root" sh -ec "tar -C /tmp -xf source.tar.xz && cd /tmp/Python-*
    ./configure -q --disable-test-modules && make -s -j $(nproc) && make -s install" \
    >>"$root.log" 2>&1
fi

rm -rf "$root/wheels"
python3 -m pip download -q --disable-pip-version-check -d "$root/wheels" --python-version 3.13 \
  --platform manylinux_2_28_x86_64 --platform manylinux2014_x86_64 --only-binary :all: \
  --find-links "$wheels" "$wheels"/whorl_fhe-*.whl
cp tools/wheel/try.py "$root"
chroot "$root" sh -ec 'ldd --version | head -n 1
  python3.13 -m venv --clear /try
  /try/bin/pip install -q --disable-pip-version-check --no-index --find-links /wheels whorl-fhe
  /try/bin/python /try.py
  /try/bin/whorl doctor --device cpu'
