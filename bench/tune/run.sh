#!/usr/bin/env bash
# Builds the tuning program for this machine's GPU and runs it.
#
# usage: bench/tune/run.sh [--device ORDINAL] [ntt32|ntt64|nttfew|fft|rotation|key_switch]...
#        (make tune-gpu: without any; all parts)
set -euo pipefail
cd "$(dirname "$0")/../.."

fail() {
  echo "tune-gpu: $1" >&2
  exit 1
}

PATH="$PATH:/usr/local/cuda/bin" command -v "${CUDACXX:-nvcc}" >/dev/null ||
  fail "${CUDACXX:-nvcc} is not on PATH or in /usr/local/cuda/bin: install the CUDA toolkit"
nvidia-smi --list-gpus 2>/dev/null | grep -q '^GPU' ||
  fail "no GPU to tune for: nvidia-smi is absent or finds none"

# The library for the first GPU's architecture; the program is built with it, in the same folder.
tools/setup.sh test
venv="${WHORL_VENV:-.venv}"
build="${WHORL_BUILD:-build/make}"
if [[ -x "$venv/bin/cmake" ]]; then
  PATH="$(cd "$venv/bin" && pwd):$PATH"
fi
defines=(-DWHORL_CUDA=ON -DWHORL_BENCH=ON)
[[ -z "${WHORL_CUDA_ARCHITECTURES:-}" ]] ||
  defines+=("-DWHORL_CUDA_ARCHITECTURES=$WHORL_CUDA_ARCHITECTURES")
cmake -S . -B "$build" "${defines[@]}"
cmake --build "$build" -j "${WHORL_JOBS:-$(nproc)}" --target tune_gpu
exec "$build/bench/tune_gpu" "$@"
