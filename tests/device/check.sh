#!/bin/sh
# One command for a machine with a GPU, and without a network: builds what it needs, compares the GPU's results with the
# CPU's, runs compute-sanitizer, times multi-scalar multiplications, transforms and whole proofs, and prints one table.
#
#   tests/device/check.sh [FOLDER]     works in FOLDER (build/device)
#
# It needs nvcc 12 or 13, gcc and a GPU; no CMake, no library beside CUDA's. One step that fails is reported, and the rest
# goes on. Exit code 0: all that was done agrees; 1: a step failed; 3: there is no GPU, or no compiler.
#
# Environment:
#   BUDGET_S    seconds that it may take, build included (460). A step that may not fit any more is left out, and said so.
#   SIZES       log2 of the domains of whole proofs (13 17 20)
#   PART_SIZES  log2 of the sizes of what is timed alone (16 18 20 22 24)
#   KINDS       circuits of those proofs (poseidon bits): of hashes, and with almost all wires 0 or 1
#   RUNS        that are timed (11)
#   OUT         a folder that gets the table as table.md and lines.tsv, and all logs
#   ARCH        for which to build, where nvidia-smi does not tell: 90 for an H200
#   CHECK_GPU, BENCH_GEN, SANITIZER   programs in place of those that are built or found, for tests of this script;
#               then nothing is built
set -eu
cd "$(dirname "$0")/../.."
begin=$(date +%s)
budget=${BUDGET_S:-460}
work=${1:-build/device}
mkdir -p "$work/objects"
work=$(cd "$work" && pwd)
runs=${RUNS:-11}
rc=0
: >"$work/lines.tsv"

say() { echo "check.sh: $*" >&2; }
failed() {
    say "FAILED: $*"
    rc=1
}
left() { echo $((budget - ($(date +%s) - begin))); }

# step SECONDS LABEL COMMAND...: runs it for as long as there is time, $limit seconds at most, its messages into a log.
# SECONDS is what it may take: with less left it is not begun. Fails if it did or if it was not begun.
limit=$budget
step() {
    may_take=$1 label=$2 log=$work/$(echo "$2" | tr ' ^' '-.').log
    shift 2
    seconds=$(left)
    if [ "$seconds" -lt "$may_take" ]; then
        say "$label: left out, since it may take $may_take s and $seconds s of $budget s are left"
        return 1
    fi
    [ "$seconds" -le "$limit" ] || seconds=$limit
    code=0
    timeout "$seconds" "$@" 2>"$log" || code=$?
    [ "$code" -ne 124 ] || echo "stopped after $seconds s" >>"$log"
    [ "$code" -eq 0 ] || failed "$label: code $code: $(tail -n 3 "$log")"
    return "$code"
}

# ---- what there is ----
PATH=$PATH:/usr/local/cuda/bin
gpu=$(nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader 2>/dev/null | head -n 1) || gpu=
if [ -n "${CHECK_GPU:-}" ]; then
    check_gpu=$CHECK_GPU bench_gen=${BENCH_GEN:-}
    gpu=${gpu:-no GPU}
else
    missing=
    for tool in nvcc gcc xargs timeout; do command -v "$tool" >/dev/null || missing="$missing $tool"; done
    [ -z "$missing" ] || { say "there is no$missing here; nothing was checked"; exit 3; }
    arch=${ARCH:-$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null | head -n 1 | tr -d .)} || arch=
    [ -n "$arch" ] || { say "there is no GPU here (nvidia-smi names none); nothing was checked"; exit 3; }
    check_gpu=$work/check_gpu bench_gen=$work/bench_gen
fi
sanitizer=${SANITIZER:-$(command -v compute-sanitizer || :)}

# ---- build: $work/check_gpu and $work/bench_gen ----
objects() { for source in "$@"; do echo "$work/objects/$(basename "$source").o"; done; }
build() {
    cuda=$(dirname "$(dirname "$(command -v nvcc)")")
    export work cuda arch
    compile='
        object=$work/objects/$(basename "$1").o
        case $1 in
            *.cu) sh cuda/gpu_compile.sh nvcc -std=c++17 -O3 -lineinfo -Xptxas=-v -arch="sm_$arch" -D_GNU_SOURCE -I. \
                      -c "$1" -o "$object" ;;
            *) gcc -std=gnu17 -O3 -g -fno-strict-aliasing -fno-tree-vectorize -D_GNU_SOURCE -DUZK_VERSION="\"check\"" -I. \
                   -isystem "$cuda/include" -c "$1" -o "$object" ;;
        esac'
    common="conf/check.c conf/error.c $(echo groth16/*.c) alloc/memory.c cuda/team.c"
    device="$(echo tests/device/check_*.c) cuda/device_cuda.c cuda/gpu_msm_plan.c"
    generator="$(echo bench/gen_*.c) bench/bench_gen.c"
    # The kernels first, since they take longest; what fails to compile shows when it is linked.
    for source in cuda/*.cu $common $device $generator; do echo "$source"; done |
        xargs -P "$(nproc)" -n 1 sh -ec "$compile" sh 2>"$work/build.log" || say "not all compiles: see $work/build.log"
    nvcc -arch="sm_$arch" -o "$check_gpu" $(objects $device cuda/*.cu $common) -lpthread -lm -ldl 2>>"$work/build.log" ||
        { say "no check_gpu: $(tail -n 3 "$work/build.log")"; exit 1; }
    gcc -o "$bench_gen" $(objects $generator $common) -lpthread -lm 2>>"$work/build.log" ||
        { failed "no bench_gen, so no keys: $(tail -n 3 "$work/build.log")"; bench_gen=; }
    sh tests/device/resources.sh cuda/gpu_resources.txt $(objects cuda/*.cu) >"$work/resources.log" ||
        failed "resources: $(grep FAILED "$work/resources.log")"
    say "built in $(($(date +%s) - begin)) s"
}
if [ -z "${CHECK_GPU:-}" ]; then
    rm -f "$check_gpu" "$bench_gen"
    build
    [ -n "$gpu" ] || { say "built for $arch; there is no GPU here, so nothing was checked"; exit 3; }
fi

# ---- check ----
# check SECONDS LABEL ARGUMENT...: lines for the table, or why there are none. `proof` in them becomes the label.
check() {
    seconds_at_most=$1 name=$2
    shift 2
    step "$seconds_at_most" "$name" "$check_gpu" --runs "$runs" "$@" >"$work/new.tsv" || :
    sed "s/^proof/${name% *}/" "$work/new.tsv" >>"$work/lines.tsv"
}

# In seconds: of 2^20, and a second for CUDA to start.
share() { echo $((2 + ($2 << ($1 > 20 ? $1 - 20 : 0) >> ($1 < 20 ? 20 - $1 : 0)))); }

small=tests/data/circuit-small
check 0 small "$small/circuit.zkey" "$small/witness-001.wtns"
if [ -n "$sanitizer" ]; then
    limit=60
    for tool in memcheck racecheck synccheck; do
        for part in "g1 8" "g2 6" "ntt 11" "$small/circuit.zkey $small/witness-001.wtns"; do
            name="$tool on $(echo "$part" | sed 's| |-2^|; s|.*zkey.*|a proof|')"
            if step 5 "$name" "$sanitizer" --tool "$tool" --error-exitcode 1 "$check_gpu" --runs 1 --no-cpu $part \
                >"$work/sanitizer.out"; then
                say "$name: clean"
            else
                cat "$work/sanitizer.out" >>"$work/sanitizer.log"
            fi
        done
    done
    limit=$budget
else
    say "there is no compute-sanitizer here"
fi

parts() {
    for log2 in "$@"; do
        for part in g1 g2 ntt; do check "$(share "$log2" 2)" "$part 2^$log2" "$part" "$log2"; done
    done
}
proofs() {
    for log2 in "$@"; do
        for kind in ${KINDS:-poseidon bits}; do
            [ -n "$bench_gen" ] || continue
            folder=$work/$kind-$log2
            if step "$(share "$log2" 40)" "key of $kind 2^$log2" "$bench_gen" --kind "$kind" --constraints $(((1 << log2) - 8)) \
                --publics 3 --witnesses 1 --seed 1 "$folder" >"$work/gen.out"; then
                check "$(share "$log2" 20)" "$kind 2^$log2" "$folder/circuit.INSECURE.zkey" "$folder/witness-000.wtns"
            fi
            rm -rf "$folder"
        done
    done
}
at_most() { for log2 in $2; do [ "$log2" -gt "$1" ] || echo "$log2"; done; }
above() { for log2 in $2; do [ "$log2" -le "$1" ] || echo "$log2"; done; }
part_sizes=${PART_SIZES:-16 18 20 22 24}
parts $(at_most 20 "$part_sizes")
proofs ${SIZES:-13 17 20}
parts $(above 20 "$part_sizes")

# ---- the table ----
table() {
    echo "$gpu; medians of $runs runs by the GPU's events, in ms; least: of the runs. Floors are those of an H200 (4.3 TB/s, 6.3e10"
    echo "multiplications in the field a second), for random scalars. MSM: of 4096 distinct points, repeated. In a batch: wall time"
    echo "a proof with two lanes busy."
    echo
    echo "| what | size | stage | median | least | floor | of the floor | MB | multiplications |"
    echo "|---|---|---|---:|---:|---:|---:|---:|---:|"
    awk -F '\t' '{
        ratio = $5 > 0 && $9 > 0 ? sprintf("%.1f", $5 / $9) : "-"
        million = $8 == "-" ? "-" : sprintf("%.1f M", $8 / 1e6)
        mb = $7 == "-" ? "-" : sprintf("%.1f", $7 / 1e6)
        printf "| %s | 2^%s (%s) | %s | %s | %s | %s | %s | %s | %s |\n", $1, $2, $3, $4, $5, $6, $9, ratio, mb, million
    }' "$work/lines.tsv"
}
[ -s "$work/lines.tsv" ] || failed "no line for the table"
table | tee "$work/table.md"
if [ -n "${OUT:-}" ]; then
    printf 'what\tlog2\tsize\tstage\tmedian_ms\tleast_ms\tbytes\tmultiplications\tfloor_ms\n' | cat - "$work/lines.tsv" >"$OUT/lines.tsv"
    cp "$work"/*.log "$work/table.md" "$OUT/"
fi
say "$(($(date +%s) - begin)) s of $budget s"
exit "$rc"
