# A circuit without public values: public.json is [], for us as for snarkjs.
. "$(dirname "$0")/common.sh"
need_snarkjs
for number in 000 001; do
    expect 0 "$UZK" prove "$CLOSED/circuit.zkey" "$CLOSED/witness-$number.wtns" proof.json public.json
    cmp public.json "$CLOSED/public.json" || fail "public.json differs from snarkjs' own"
    judge "$CLOSED/vkey.json" proof.json public.json "$CLOSED/witness-$number.wtns"
    expect 0 "$UZK" verify "$CLOSED/vkey.json" public.json proof.json
done
cat >batch.conf <<CONF
circuit closed {
  zkey = "$CLOSED/circuit.zkey"
}
job factors {
  circuit = closed
  witnesses = "$CLOSED/witness-*.wtns"
  output = out
}
CONF
expect 0 "$UZK" run batch.conf
judge_folder "$CLOSED/vkey.json" out "$CLOSED" 2
