#!/bin/bash
# The evidence of bench/RESULTS.md once more: bench/reproduce.sh [locked] [trim] [core] [allocators]; all without arguments.
# BALLAST (default: half of the memory that is free, at most 12 GiB) is the heap that trims walk, in GiB. Everything goes to
# out/evidence; nothing is installed. Takes about 20 minutes with 12 GiB.
set -euo pipefail
cd "$(dirname "$0")/.."
bench=build/release/bench
results=out/evidence
test -x $bench/bench_locked || {
    cmake --preset release
    cmake --build --preset release
}
free_gib=$(awk '/^MemAvailable:/ { print int($2 / 1048576) }' /proc/meminfo)
BALLAST=${BALLAST:-$((free_gib / 2 < 12 ? free_gib / 2 : 12))}
test "$BALLAST" -ge 1 || {
    echo "reproduce.sh: needs 2 GiB of free memory, there are $free_gib" >&2
    exit 3
}
mkdir -p $results

# sizes: 1, 2, 4, 8 and BALLAST GiB, as far as they go.
sizes() {
    list=
    for gib in 1 2 4 8; do
        [ $gib -ge "$BALLAST" ] || list=$list${gib}gb,
    done
    echo "$list${BALLAST}gb"
}

locked() {
    rm -rf out/witnesses out/locked
    mkdir -p out/witnesses
    for copy in 0 1 2 3 4 5 6 7 8 9; do
        for witness in tests/data/circuit-small/witness-*.wtns; do
            cp "$witness" "out/witnesses/$copy-$(basename "$witness")"
        done
    done
    for chunks in 8kb 8kb,32kb,100kb; do
        echo "== locked baseline, $BALLAST GiB in chunks of $chunks"
        $bench/bench_locked --partitions 60 --ballast "${BALLAST}gb" --chunks $chunks --trace out/locked.trace bench/locked.conf
        build/release/uzk explain out/locked.trace
        rm -rf out/locked
        echo "== uzk, the same"
        $bench/bench_run --ballast "${BALLAST}gb" --chunks $chunks bench/locked.conf
        build/release/uzk explain out/locked.trace
    done
}

trim() { $bench/bench_trim --chunks 8kb --sizes "$(sizes)"; }
core() { $bench/bench_core; }
allocators() { $bench/bench_allocators bench/allocators.conf --results $results; }

[ $# -gt 0 ] || set -- core locked trim allocators
for section in "$@"; do
    case $section in
    locked | trim | core | allocators) "$section" | tee "$results/$section.txt" ;;
    *)
        echo "reproduce.sh: no section \"$section\"; there are locked, trim, core, allocators" >&2
        exit 2
        ;;
    esac
done
