# Batches from a configuration; a second run of the same finds nothing to do.
. "$(dirname "$0")/common.sh"
need_snarkjs
small_conf "$SMALL/witness-*.wtns" out
expect 0 "$UZK" check batch.conf
expect 0 "$UZK" run batch.conf
said "6 of 6"
judge_folder "$SMALL/vkey.json" out "$SMALL" 6
no_leftovers out
cksum out/*.json >before
expect 0 "$UZK" run batch.conf
said "6 of 6"
cksum out/*.json | cmp - before || fail "a second run proved again"

# What check prints is a configuration that does the same from anywhere.
"$UZK" check batch.conf >printed.conf
mkdir elsewhere
mv printed.conf elsewhere/
rm -r out
expect 0 "$UZK" run elsewhere/printed.conf
judge_folder "$SMALL/vkey.json" out "$SMALL" 6

# Two circuits and two jobs that share an output folder, on one lane and on many.
for lanes in 1 3; do
    cat >two.conf <<CONF
circuit small {
  zkey = "$SMALL/circuit.zkey"
  check_points = full
  tables = all
}
circuit closed {
  zkey = "$CLOSED/circuit.zkey"
  check_points = off
  tables = h
}
job a {
  circuit = small
  witnesses = { "$SMALL/witness-002.wtns", "$SMALL/witness-005.wtns" }
  output = two-$lanes
}
job b {
  circuit = closed
  witnesses = "$CLOSED/witness-001.wtns"
  output = two-$lanes
}
devices = { cpu }
lanes_per_device = $lanes
threads = 2
lookahead = $lanes
CONF
    expect 0 "$UZK" run two.conf
    judge "$SMALL/vkey.json" "two-$lanes/witness-002.proof.json" "two-$lanes/witness-002.public.json" "$SMALL/witness-002.wtns" \
        "two-$lanes/witness-005.proof.json" "two-$lanes/witness-005.public.json" "$SMALL/witness-005.wtns"
    judge "$CLOSED/vkey.json" "two-$lanes/witness-001.proof.json" "two-$lanes/witness-001.public.json" "$CLOSED/witness-001.wtns"
    count 3 "two-$lanes"/*.proof.json
done

# A real circuit where there is one.
semaphore=$SOURCE/../shared/circuits/semaphore-20
if [ -d "$semaphore" ]; then
    cat >semaphore.conf <<CONF
circuit semaphore {
  zkey = "$semaphore/circuit.zkey"
}
job votes {
  circuit = semaphore
  witnesses = "$semaphore/witness-00[0-3].wtns"
  output = votes
}
CONF
    expect 0 "$UZK" run semaphore.conf
    judge_folder "$semaphore/vkey.json" votes "$semaphore" 4
fi
