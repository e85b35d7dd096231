# uzk verify and snarkjs judge some hundreds of the same proofs, values and keys, sound, damaged and forged; see differential.mjs.
. "$(dirname "$0")/common.sh"
need_snarkjs
mkdir fresh
expect 0 "$UZK" prove "$SMALL/circuit.zkey" "$SMALL/witness-001.wtns" fresh/proof.json fresh/public.json
seed=$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')
node "$SOURCE/tests/e2e/differential.mjs" "$UZK" "$DATA" fresh "$seed" >stdout 2>stderr || fail "differential.mjs, seed $seed"
cat stdout
