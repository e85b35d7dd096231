// Prints the vectors of test_ntt.c and test_prove.c: what snarkjs and ffjavascript compute.
//
//     npm install snarkjs@0.7.5 ffjavascript && node make_prove_vectors.mjs PATH_OF/tests/data
//
// Blinding is chosen by replacing Fr.random of the curve object which snarkjs shares with us.
import * as snarkjs from "snarkjs";
import { getCurveFromName } from "ffjavascript";

const data = process.argv[2];
const curve = await getCurveFromName("bn128");
const Fr = curve.Fr;

const blinding = [
  "11111111111111111111111111111111111111111111111111111111111111111111111111",
  "7654321098765432109876543210987654321098765432109876543210987654321098765432",
];
for (const name of ["circuit-small", "circuit-closed"]) {
  for (const [witness, values] of [["000", blinding], ["001", ["0", "0"]]]) {
    const queue = values.slice();
    Fr.random = () => Fr.e(queue.shift());
    const { proof } = await snarkjs.groth16.prove(`${data}/${name}/circuit.zkey`, `${data}/${name}/witness-${witness}.wtns`);
    console.log(name, witness, values, JSON.stringify(proof, null, 1));
  }
}

for (const log of [0, 1, 2, 3, 5, 9, 10, 13, 14, 17, 19]) {
  const n = 1 << log;
  let values = new Uint8Array(n * 32);
  let v = Fr.e(5n);
  for (let i = 0; i < n; i++) {
    values.set(v, i * 32);
    v = Fr.add(Fr.square(v), Fr.e(3n));
  }
  if (n > 1) {
    values = await Fr.ifft(values);
    values = await Fr.batchApplyKey(values, Fr.e(1), Fr.w[log + 1]);
    values = await Fr.fft(values);
  }
  let fingerprint = Fr.zero; // the values as coefficients of a polynomial, at one point
  for (let i = n - 1; i >= 0; i--) {
    const value = values.slice(i * 32, i * 32 + 32);
    fingerprint = Fr.add(Fr.mul(fingerprint, Fr.e(12345678901234567890n)), value);
    if (log === 3) console.log(i, Fr.toString(value));
  }
  console.log(log, Fr.toString(fingerprint));
}
process.exit(0);
