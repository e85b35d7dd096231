#!/bin/sh
# Runs both simulators on many seeds and prints what README.md records. Usage: soak.sh BUILD_FOLDER COUNT [FIRST]
# (tests/sim/soak.sh build/release 1000000). A failure prints its seed and ends the run.
set -eu
folder=$1
count=$2
first=${3:-1}
commit=$(git -C "$(dirname "$0")" rev-parse --short HEAD 2>/dev/null || echo unknown)
for simulator in sim_core sim_shell; do
    echo "$simulator, commit $commit, $(date -u +%Y-%m-%d):"
    nice -n 19 "$folder/tests/sim/$simulator" --seeds "$count" --first "$first"
done
