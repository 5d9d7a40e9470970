#!/usr/bin/env bash
# Gathers the GPU tests and benches and what they load into one folder, to be run on a machine that
# has a GPU and its driver but neither a compiler nor these libraries:
#
#   tools/gpu-bundle.sh out/bundle && scp -r out/bundle machine: && ssh machine bundle/run.sh
#
# usage: tools/gpu-bundle.sh FOLDER      (make gpu-bundle TO=FOLDER sets up first)
#
# Builds for one architecture: that which tools/setup.sh chose, or WHORL_CUDA_ARCHITECTURES.
set -euo pipefail
[[ -n "${1:-}" ]] || {
  echo "usage: tools/gpu-bundle.sh FOLDER" >&2
  exit 2
}
mkdir -p "$1"
to="$(cd "$1" && pwd)"
cd "$(dirname "$0")/.."

venv="${WHORL_VENV:-.venv}"
build="${WHORL_BUILD:-build/make}"
jobs="${WHORL_JOBS:-$(nproc)}"
if [[ -x "$venv/bin/cmake" ]]; then
  PATH="$(cd "$venv/bin" && pwd):$PATH"
fi
defines=(-DWHORL_CUDA=ON -DWHORL_TESTS=ON -DWHORL_BENCH=ON)
[[ -z "${WHORL_CUDA_ARCHITECTURES:-}" ]] ||
  defines+=("-DWHORL_CUDA_ARCHITECTURES=$WHORL_CUDA_ARCHITECTURES")
cmake -S . -B "$build" "${defines[@]}"
cmake --build "$build" -j "$jobs" --target whorl_gpu

rm -rf "${to:?}/bin" "${to:?}/lib" "${to:?}/tests"
mkdir -p "$to/bin" "$to/lib" "$to/tests/kat"
strip -o "$to/lib/whorl_gpu" "$build/whorl_gpu"
# One program has the kernels once; in bin/ is a name for each that is in it.
mapfile -t programs <"$build/gpu_bundle.txt"
for program in "${programs[@]}"; do
  cat >"$to/bin/$program" <<NAME
#!/bin/sh
exec "\$(dirname "\$0")/../lib/whorl_gpu" $program "\$@"
NAME
  chmod +x "$to/bin/$program"
done
cp tests/kat/*.txt "$to/tests/kat/"
cp -r tests/data "$to/tests/"
cp tools/circuits.sh bench/tree/iris.json "$to/"

# All that they load but the C library's own parts, which the other machine has.
mapfile -t libraries < <(ldd "$to/lib/whorl_gpu" |
  sed -nE 's/.*=> (\/[^ ]+) .*/\1/p' | sort -u |
  grep -vE '/(libc|libm|libdl|librt|libpthread|ld-linux[^/]*)\.so')
cp -L "${libraries[@]}" "$to/lib/"

git rev-parse --short HEAD 2>/dev/null >"$to/commit" || echo unknown >"$to/commit"
cat >"$to/run.sh" <<'RUN'
#!/usr/bin/env bash
# usage: run.sh                         all tests, then all benches; records into ./results
#        run.sh test [ARGUMENT …]       tests only, with arguments of GoogleTest
#        run.sh bench [ARGUMENT …]      the benches of the records only
#        run.sh circuits SCHEME [N [PROCESSES]]
#                                       random circuits on CPU and GPUs: bgv (100,000) or ckks (10,000)
#        run.sh PROGRAM [ARGUMENT …]    one program of bin/
set -uo pipefail
here="$(cd "$(dirname "$0")" && pwd)"
export LD_LIBRARY_PATH="$here/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
export WHORL_TEST_DATA="$here"
results="${WHORL_RESULTS:-$PWD/results}"

run_tests() { "$here/bin/whorl_tests_gpu" "$@"; }
run_bench() {
  mkdir -p "$results"
  "$here/bin/bench_gpu" --record "$results/gpu.jsonl" --commit "$(<"$here/commit")" "$@"
}

case "${1:-all}" in
  all) run_tests; status=$?; run_bench || status=$?; exit "$status" ;;
  test) shift; run_tests "$@" ;;
  bench) shift; run_bench "$@" ;;
  circuits)
    scheme="${2:?usage: run.sh circuits bgv|ckks [N [PROCESSES]]}"
    shift 2
    "$here/circuits.sh" "$scheme" "$here/bin/whorl_tests_gpu" "$@"
    ;;
  *) program="$1"; shift; "$here/bin/$program" "$@" ;;
esac
RUN
chmod +x "$to/run.sh"
size=$(du -sm "$to" | cut -f1)
echo "$to: $size MB, ${#programs[@]} programs"
((size < 50)) || {
  echo "more than 50 MB: build for one architecture (WHORL_CUDA_ARCHITECTURES)" >&2
  exit 1
}
