#!/bin/sh
# check.sh from end to end with small sizes: $CHECK_GPU is check_gpu over the emulator, $BENCH_GEN makes its keys.
set -eu
: "${CHECK_GPU:?}" "${BENCH_GEN:?}" "${SOURCE:?}"
work=$(mktemp -d "${TMPDIR:-/tmp}/uzk-check-XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM HUP
mkdir "$work/out"
export CHECK_GPU BENCH_GEN OUT="$work/out" RUNS=1 SIZES=5 KINDS=poseidon PART_SIZES=4 SANITIZER="$work/sanitizer"
fail() {
    echo "FAILED: $*" >&2
    cat "$work/stdout" "$work/stderr" >&2
    exit 1
}
run() { # CODE
    code=0
    sh "$SOURCE/tests/device/check.sh" "$work/device" >"$work/stdout" 2>"$work/stderr" || code=$?
    [ "$code" -eq "$1" ] || fail "exit code $code, expected $1"
}
count() { # NUMBER FILE TEXT
    found=$(grep -cF -- "$3" "$2") || :
    [ "$found" -eq "$1" ] || fail "$found lines with \"$3\" in $2, expected $1"
}

# A sanitizer that does nothing but run the program, so that all of its options are seen to be right.
printf '%s\n' '#!/bin/sh' '[ "$1 $3 $4" = "--tool --error-exitcode 1" ] || exit 9' 'shift 4' '[ "${4:-}" = --no-cpu ] || exit 9' \
    'exit 0' >"$SANITIZER"
chmod +x "$SANITIZER"
run 0
count 12 "$work/stderr" clean
count 0 "$work/stderr" FAILED
for what in "small	10	535	all	" "MSM g1	4	16	random	" "MSM g2	4	16	mostly 0 and 1	" "NTT	4	16	three vectors	" \
    "poseidon	5	"; do
    [ "$(grep -cF -- "$what" "$OUT/lines.tsv")" -ge 1 ] || fail "no line of $what"
done
count 1 "$work/stdout" "| NTT | 2^4 (16) |"
[ "$(wc -l <"$OUT/lines.tsv")" -eq $(($(grep -c '^| .* | 2^' "$work/stdout") + 1)) ] || fail "the table has other lines than lines.tsv"

# A step fails, another is refused by the sanitizer; the others go on.
printf '%s\n' '#!/bin/sh' 'case "$*" in *circuit-small*) echo "something differs" >&2; exit 1 ;; esac' "exec '$CHECK_GPU' \"\$@\"" \
    >"$work/failing"
printf '%s\n' '#!/bin/sh' '[ "$2" != racecheck ] || { echo "a race" >&2; exit 1; }' >"$SANITIZER"
chmod +x "$work/failing"
CHECK_GPU=$work/failing PART_SIZES=3 run 1
count 1 "$work/stderr" "FAILED: small: code 1: something differs"
count 1 "$work/stderr" "FAILED: racecheck on g1-2^8: code 1: a race"
count 8 "$work/stderr" clean
count 0 "$OUT/lines.tsv" small
count 1 "$OUT/lines.tsv" "NTT	3"
count 7 "$OUT/lines.tsv" "poseidon	5"

# No time: nothing is begun, all of it is named, and that nothing was compared is a failure.
BUDGET_S=-1 PART_SIZES="3 21" run 1
for name in small "memcheck on a proof" "g1 2^3" "ntt 2^21" "key of poseidon 2^5"; do
    count 1 "$work/stderr" "check.sh: $name: left out"
done
count 1 "$work/stderr" "no line for the table"
