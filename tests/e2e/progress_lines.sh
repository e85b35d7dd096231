# Without a terminal: plain lines, no control characters, the summary at the end on standard output.
. "$(dirname "$0")/common.sh"
small_conf "$SMALL/witness-*.wtns" out
expect 0 "$UZK" run batch.conf
! LC_ALL=C grep -q "$(printf '[\033\r\b]')" stdout stderr || fail "control characters without a terminal"
grep -q "6 of 6" stdout || fail "no summary on standard output"
grep -q "p50" stdout || fail "no latency in the summary"
rm -r out
expect 0 "$UZK" run --verbose batch.conf
cat stdout stderr >all
[ "$(grep -c GPU_TIMING all)" -eq 6 ] || fail "not one GPU_TIMING line for each proof"
[ "$(grep -c FIN_TIMING all)" -eq 6 ] || fail "not one FIN_TIMING line for each proof"
rm -r out
expect 0 "$UZK" run --quiet batch.conf
[ ! -s stderr ] || fail "--quiet says something"
# A long batch says where it is while it runs; nobody listening is no reason to stop.
many_witnesses 30
small_conf "$WORK/many/*.wtns" long
expect 0 sh -c '"$UZK" run batch.conf 2>&1 | true; true'
expect 0 "$UZK" run batch.conf
count 30 long/*.proof.json
