# io_uring blocked: one message that says what to change, exit code 3; what needs no ring goes on working.
. "$(dirname "$0")/common.sh"
code=0
"$BLOCK_URING" 1 true || code=$?
[ $code -eq 0 ] || skip "no permission for a seccomp filter"
small_conf "$SMALL/witness-*.wtns" out
expect 3 "$BLOCK_URING" 1 "$UZK" run batch.conf
said io_uring
said seccomp
count 0 out/*.json
expect 3 "$BLOCK_URING" 38 "$UZK" run batch.conf
said io_uring
said 6.1
expect 3 "$BLOCK_URING" 12 "$UZK" run batch.conf
said "locked memory"
[ "$(wc -l <stderr)" -le 3 ] || fail "more than one message"
expect 0 "$BLOCK_URING" 1 "$UZK" check batch.conf
expect 0 "$BLOCK_URING" 1 "$UZK" prove "$SMALL/circuit.zkey" "$SMALL/witness-000.wtns" proof.json public.json
expect 0 "$BLOCK_URING" 1 "$UZK" verify "$SMALL/vkey.json" public.json proof.json
expect 0 "$BLOCK_URING" 1 "$UZK" devices
said io_uring
