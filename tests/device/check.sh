#!/bin/sh
# One command for a machine with a GPU, and without a network: builds what it needs, compares the GPU's proofs with the
# CPU's, times them, and prints one Markdown table.
#
#   tests/device/check.sh [FOLDER]     works in FOLDER (build/device); $SIZES: log2 of the domains, "13 16 17 20"
#
# It needs nvcc 12 or 13, gcc and a GPU; no CMake, no library beside CUDA's. A size whose key cannot be made or that does
# not fit is named and skipped. Exit code 0: all agrees; 1: something differs; 3: there is no GPU, or no nvcc.
set -eu
cd "$(dirname "$0")/../.."
work=${1:-build/device}
sizes=${SIZES:-13 16 17 20}
compared_max=17 # beyond that the CPU alone would take too long
PATH=$PATH:/usr/local/cuda/bin
command -v nvcc >/dev/null || { echo "check.sh: there is no nvcc here" >&2; exit 3; }
gpu=$(nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader 2>/dev/null | head -n 1) || gpu=
[ -n "$gpu" ] || { echo "check.sh: there is no GPU here (nvidia-smi names none); nothing was checked" >&2; exit 3; }
arch=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader | head -n 1 | tr -d .)

# ---- build: $work/check_gpu and $work/bench_gen ----
cuda=$(dirname "$(dirname "$(command -v nvcc)")")
mkdir -p "$work/objects"
list=$work/objects/list
: >"$list"
for source in conf/check.c conf/error.c groth16/*.c alloc/memory.c cuda/team.c cuda/gpu_msm_plan.c cuda/device_cuda.c; do
    echo "$source" >>"$list"
done
for source in bench/gen_*.c bench/bench_gen.c tests/device/check_gpu.c; do echo "$source" >>"$list"; done
export work cuda arch
compile='
    object=$work/objects/$(basename "$1").o
    case $1 in
        *.cu) nvcc -std=c++17 -O3 -lineinfo -arch="sm_$arch" -D_GNU_SOURCE -I. -c "$1" -o "$object" ;;
        *) gcc -std=gnu17 -O3 -g -fno-strict-aliasing -fno-tree-vectorize -D_GNU_SOURCE -DUZK_VERSION="\"check\"" -I. \
               -isystem "$cuda/include" -c "$1" -o "$object" ;;
    esac'
{ ls cuda/*.cu; cat "$list"; } | xargs -P "$(nproc)" -n 1 sh -ec "$compile" sh
objects() { for source in "$@"; do echo "$work/objects/$(basename "$source").o"; done; }
common=$(objects conf/check.c conf/error.c groth16/*.c alloc/memory.c cuda/team.c)
gcc -o "$work/bench_gen" $(objects bench/gen_*.c bench/bench_gen.c) $common -lpthread -lm
nvcc -arch="sm_$arch" -o "$work/check_gpu" $(objects tests/device/check_gpu.c cuda/device_cuda.c cuda/gpu_msm_plan.c cuda/*.cu) \
    $common -lpthread -lm -ldl

# ---- check ----
rc=0
check() { # LABEL OPTION... KEY WITNESS: a row of the table, or why there is none
    label=$1
    shift
    row=$("$work/check_gpu" "$@") && code=0 || code=$?
    [ -z "$row" ] || echo "$row" | sed "s/^|/| $label |/" >>"$work/table"
    [ "$code" -eq 0 ] || { echo "check.sh: $label: check_gpu ended with code $code" >&2; [ "$rc" -eq 1 ] || rc=$code; }
}
: >"$work/table"
small=tests/data/circuit-small
if command -v compute-sanitizer >/dev/null; then
    for tool in memcheck racecheck; do
        compute-sanitizer --tool "$tool" --error-exitcode 1 "$work/check_gpu" --runs 1 --no-cpu \
            "$small/circuit.zkey" "$small/witness-001.wtns" >"$work/$tool.log" 2>&1 &&
            echo "check.sh: compute-sanitizer $tool: clean" >&2 ||
            { echo "check.sh: compute-sanitizer $tool: see $work/$tool.log" >&2; rc=1; }
    done
else
    echo "check.sh: no compute-sanitizer here" >&2
fi
check small --runs 3 "$small/circuit.zkey" "$small/witness-001.wtns"
for log2 in $sizes; do
    for kind in poseidon bits; do
        folder=$work/$kind-$log2
        if ! "$work/bench_gen" --kind "$kind" --constraints $(((1 << log2) - 8)) --publics 3 --witnesses 1 --seed 1 "$folder" \
            >"$work/gen.log" 2>&1; then
            echo "check.sh: $kind 2^$log2: no key: $(tail -n 1 "$work/gen.log")" >&2
            continue
        fi
        compare=
        [ "$log2" -le "$compared_max" ] || compare=--no-cpu
        check "$kind" --runs 11 $compare "$folder/circuit.INSECURE.zkey" "$folder/witness-000.wtns"
        rm -r "$folder"
    done
done
echo "$gpu; medians of 11 runs in ms by the GPU's events; batch: wall time a proof with two lanes busy"
echo
echo "| circuit | domain | wires | H2D | evaluate | NTT | MSM | D2H | proof | batch |"
echo "|---|---|---|---|---|---|---|---|---|---|"
cat "$work/table"
exit "$rc"
