# A simulated device leaves nothing that could be taken for a proof.
. "$(dirname "$0")/common.sh"
small_conf "$SMALL/witness-*.wtns" out
printf 'devices = { sim }\n' >>batch.conf
expect 0 "$UZK" run batch.conf
count 6 out/*.simulated.json
count 0 out/*.proof.json
count 0 out/*.public.json
grep -q '"simulated": *true' out/witness-000.simulated.json || fail "not marked as simulated"
# Real proofs into the same folder later: all of them are still to be done.
sed -i '/^devices/d' batch.conf
expect 0 "$UZK" run batch.conf
count 6 out/*.proof.json
