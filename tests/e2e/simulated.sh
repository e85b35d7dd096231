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
# One line for each proof from the device and one from the host, stages in order, only when asked for.
small_conf "$SMALL/witness-*.wtns" timed
printf 'devices = { sim }\n' >>batch.conf
expect 0 "$UZK" run --verbose batch.conf
ms='[0-9]+\.[0-9]{3}'
lines() { grep -cE "$1" stderr || :; }
of="job=spend partition=witness-00[0-5]"
[ "$(lines "GPU_TIMING $of device=sim lane=[01] attempt=1 queue=$ms dispatch=$ms h2d=$ms evaluate=$ms ntt=$ms msm=$ms d2h=$ms ms$")" -eq 6 ] ||
    fail "GPU_TIMING lines"
[ "$(lines "FIN_TIMING $of queue=$ms finalize=$ms self_check=$ms write=$ms ms$")" -eq 6 ] || fail "FIN_TIMING lines"
rm -r timed
expect 0 "$UZK" run batch.conf
not_said TIMING
