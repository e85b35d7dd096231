#!/bin/sh
# Runs the fuzz targets for long, one after the other, and prints the table that README.md records.
# Usage: long.sh BUILD_FOLDER SECONDS [TARGET...]
# (tests/fuzz/long.sh build/fuzz 3600; a target is config, journal, proof, ...; all unless given). What is found stays in
# BUILD_FOLDER/tests/fuzz/long; a run goes on from there. A fault ends the target's run, is named, and the rest goes on.
set -eu
source=$(cd "$(dirname "$0")" && pwd)
folder=$(cd "$1" && pwd)/tests/fuzz
seconds=$2
shift 2
[ $# -gt 0 ] || set -- $(cd "$source" && ls fuzz_*.c | sed 's/^fuzz_//; s/\.c$//')
mkdir -p "$folder/long"
cd "$folder/long"
failed=0
printf '%-9s %13s %9s %8s %9s %7s %9s\n' target executions 'a second' edges features inputs 'peak MiB'
for target in "$@"; do
    mkdir -p "$target"
    seeds=
    for seed in "$source/corpus/$target" "$folder/fuzz_$target.corpus"; do
        [ ! -d "$seed" ] || seeds="$seeds $seed"
    done
    code=0
    leaks=1
    [ "$target" != config ] || leaks=0 # see CMakeLists.txt
    ASAN_OPTIONS=detect_leaks=$leaks nice -n 19 "$folder/fuzz_$target" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 \
        -artifact_prefix="$target-" "$target" $seeds >"$target.log" 2>&1 || code=$?
    awk -v target="$target" '
        /cov: / { for (i = 1; i < NF; i++) { if ($i == "cov:") cov = $(i + 1); if ($i == "ft:") ft = $(i + 1)
                                             if ($i == "corp:") corp = $(i + 1) } }
        /number_of_executed_units/ { runs = $2 }
        /average_exec_per_sec/ { rate = $2 }
        /peak_rss_mb/ { peak = $2 }
        END { printf "%-9s %13d %9d %8d %9d %7d %9d\n", target, runs, rate, cov, ft, corp, peak }' "$target.log"
    if [ $code -ne 0 ]; then
        echo "fuzz_$target found a fault: $folder/long/$target.log"
        failed=1
    fi
done
exit $failed
