# Made-up circuits (bench_gen): snarkjs accepts uzk's proofs for their keys, and proves with the keys itself. Only what
# is sound in keys, witnesses and both provers gives that.
. "$(dirname "$0")/common.sh"
: "${BENCH_GEN:?the generator to test}"
need_snarkjs
SNARKJS=$SOURCE/tests/node_modules/snarkjs/build/cli.cjs

for kind in squaring poseidon bits; do
    expect 0 "$BENCH_GEN" --kind "$kind" --constraints 1200 --publics 3 --witnesses 2 --seed 7 "$kind"
    said INSECURE
    key=$kind/circuit.INSECURE.zkey
    vkey=$kind/vkey.INSECURE.json
    grep -q '"INSECURE"' "$vkey" || fail "$vkey does not say what it is"
    grep -qa 'INSECURE' "$key" || fail "$key does not say what it is"
    for witness in witness-000 witness-001; do
        expect 0 "$UZK" prove "$key" "$kind/$witness.wtns" "$witness.proof.json" "$witness.public.json"
        expect 0 "$UZK" verify "$vkey" "$witness.public.json" "$witness.proof.json"
    done
    judge "$vkey" witness-000.proof.json witness-000.public.json "$kind/witness-000.wtns" \
        witness-001.proof.json witness-001.public.json "$kind/witness-001.wtns"
    expect 1 "$UZK" verify "$vkey" witness-000.public.json witness-001.proof.json
done

expect 0 node "$SNARKJS" groth16 prove bits/circuit.INSECURE.zkey bits/witness-001.wtns theirs.json public.json
expect 0 "$UZK" verify bits/vkey.INSECURE.json public.json theirs.json

# snarkjs reads the same verification key out of the proving key.
expect 0 node "$SNARKJS" zkey export verificationkey bits/circuit.INSECURE.zkey exported.json
expect 0 "$UZK" verify exported.json public.json theirs.json

# The same seed makes the same files, with any number of threads; another seed makes others.
expect 0 "$BENCH_GEN" --kind bits --constraints 1200 --publics 3 --witnesses 2 --seed 7 --threads 1 again
cmp bits/circuit.INSECURE.zkey again/circuit.INSECURE.zkey || fail "the key differs"
cmp bits/witness-001.wtns again/witness-001.wtns || fail "the witness differs"
expect 0 "$BENCH_GEN" --kind bits --constraints 1200 --publics 3 --seed 8 other
! cmp -s bits/circuit.INSECURE.zkey other/circuit.INSECURE.zkey || fail "two seeds make one key"

# Points are on their curves and in their subgroups, as the strictest check has it.
{
    printf 'circuit made {\n zkey = "bits/circuit.INSECURE.zkey"\n check_points = full\n}\n'
    printf 'job all {\n circuit = made\n witnesses = "bits/*.wtns"\n output = "out"\n}\n'
} >batch.conf
expect 0 "$UZK" check batch.conf

expect 2 "$BENCH_GEN" --kind bits --constraints 100 --publics 3 few
said "expected"
expect 2 "$BENCH_GEN" --kind sparse few
expect 2 "$BENCH_GEN"
expect 2 "$BENCH_GEN" --constraints 100 /proc/nowhere/there
said /proc/nowhere/there
