#!/bin/sh
# Makes tests/data/circuit-* anew: keys, inputs, witnesses and one proof each, with the circom2 and snarkjs pinned in
# tests/package-lock.json. The ceremonies are contributed to with fresh randomness, so keys and proofs differ each time;
# files derived from them elsewhere (tests/data/verify, vectors in the unit tests) must then be made anew as well.
set -eu
cd "$(dirname "$0")"
(cd .. && npm ci --silent --no-audit --no-fund)
bin=$PWD/../node_modules/.bin
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
entropy() { od -An -N32 -tx1 /dev/urandom | tr -d ' \n'; }

"$bin/snarkjs" powersoftau new bn128 11 "$work/0.ptau"
"$bin/snarkjs" powersoftau contribute "$work/0.ptau" "$work/1.ptau" --name=first -e="$(entropy)"
"$bin/snarkjs" powersoftau contribute "$work/1.ptau" "$work/2.ptau" --name=second -e="$(entropy)"
"$bin/snarkjs" powersoftau prepare phase2 "$work/2.ptau" "$work/final.ptau"
"$bin/snarkjs" powersoftau verify "$work/final.ptau"

node make_inputs.mjs
for circuit in circuit-small circuit-closed; do
    mkdir -p "$work/$circuit"
    "$bin/circom2" "$circuit/circuit.circom" --r1cs --wasm -o "$work/$circuit"
    "$bin/snarkjs" groth16 setup "$work/$circuit/circuit.r1cs" "$work/final.ptau" "$work/$circuit/0.zkey"
    "$bin/snarkjs" zkey contribute "$work/$circuit/0.zkey" "$circuit/circuit.zkey" --name=first -e="$(entropy)"
    "$bin/snarkjs" zkey verify "$work/$circuit/circuit.r1cs" "$work/final.ptau" "$circuit/circuit.zkey"
    "$bin/snarkjs" zkey export verificationkey "$circuit/circuit.zkey" "$circuit/vkey.json"
    cp "$work/$circuit/circuit_js/circuit.wasm" "$circuit/circuit.wasm"
    for input in "$circuit"/input-*.json; do
        witness=$(echo "$input" | sed 's/input-/witness-/; s/json$/wtns/')
        node witness.mjs "$circuit/circuit.wasm" "$input" "$witness"
    done
    "$bin/snarkjs" groth16 prove "$circuit/circuit.zkey" "$circuit/witness-000.wtns" "$circuit/proof.json" "$circuit/public.json"
    "$bin/snarkjs" groth16 verify "$circuit/vkey.json" "$circuit/public.json" "$circuit/proof.json"
done
