# One proof: the same arguments as snarkjs, judged by snarkjs; then the verifier's three answers.
. "$(dirname "$0")/common.sh"
need_snarkjs

expect 0 "$UZK" prove "$SMALL/circuit.zkey" "$SMALL/witness-000.wtns" proof.json public.json
judge "$SMALL/vkey.json" proof.json public.json "$SMALL/witness-000.wtns"
cmp public.json "$SMALL/public.json" || fail "public.json differs from snarkjs' own"

# Fresh randomness each time: two proofs of one witness have nothing in common.
expect 0 "$UZK" prove "$SMALL/circuit.zkey" "$SMALL/witness-000.wtns" second.json public.json
! cmp -s proof.json second.json || fail "two proofs of one witness are the same"

expect 0 "$UZK" verify "$SMALL/vkey.json" public.json proof.json
said OK
expect 0 "$UZK" verify "$SMALL/vkey.json" "$SMALL/public.json" "$SMALL/proof.json"
sed 's/"4294967295"/"4294967294"/' public.json >other.json
expect 1 "$UZK" verify "$SMALL/vkey.json" other.json proof.json
expect 1 "$UZK" verify "$SMALL/vkey.json" public.json "$CLOSED/proof.json"
expect 2 "$UZK" verify "$SMALL/vkey.json" proof.json public.json
expect 2 "$UZK" verify "$SMALL/vkey.json" public.json none.json
said none.json
expect 2 "$UZK" verify "$SMALL/circuit.zkey" public.json proof.json
said circuit.zkey
printf '[]' >empty.json
expect 2 "$UZK" verify "$SMALL/vkey.json" empty.json proof.json

semaphore=$SOURCE/../shared/circuits/semaphore-20
if [ -d "$semaphore" ]; then
    expect 0 "$UZK" prove "$semaphore/circuit.zkey" "$semaphore/witness-003.wtns" proof.json public.json
    judge "$semaphore/vkey.json" proof.json public.json "$semaphore/witness-003.wtns"
fi
