// node verify_all.mjs VKEY.json PROOF.json PUBLIC.json WITNESS.wtns [PROOF PUBLIC WITNESS ...]
// snarkjs verifies every proof, in one process; the public values must be the witness' own, and the files shaped as snarkjs
// writes them. Exits 1 and names the first that isn't right.
import { readFileSync } from "node:fs";
import { groth16, wtns } from "snarkjs";

const [vkeyPath, ...files] = process.argv.slice(2);
const vkey = JSON.parse(readFileSync(vkeyPath, "utf8"));

function wrong(path, why) {
    console.error(`${path}: ${why}`);
    process.exit(1);
}

function checkShape(path, text, value) {
    // snarkjs' command line puts the brackets of an empty array on two lines.
    const expected = Array.isArray(value) && value.length === 0 ? "[\n]" : JSON.stringify(value, null, 1);
    if (text !== expected) wrong(path, "is not laid out as snarkjs does");
}

function checkProof(path, proof) {
    const keys = Object.keys(proof).join();
    if (keys !== "pi_a,pi_b,pi_c,protocol,curve") wrong(path, `has the members ${keys}`);
    if (proof.protocol !== "groth16" || proof.curve !== "bn128") wrong(path, "names another protocol or curve");
}

if (files.length === 0 || files.length % 3 !== 0) wrong("verify_all.mjs", "expected VKEY and triples of PROOF PUBLIC WITNESS");
for (let i = 0; i < files.length; i += 3) {
    const [proofPath, publicPath, witnessPath] = files.slice(i, i + 3);
    const proofText = readFileSync(proofPath, "utf8"), publicText = readFileSync(publicPath, "utf8");
    const proof = JSON.parse(proofText), publics = JSON.parse(publicText);
    checkShape(proofPath, proofText, proof);
    checkShape(publicPath, publicText, publics);
    checkProof(proofPath, proof);
    const witness = await wtns.exportJson(witnessPath);
    const expected = witness.slice(1, 1 + vkey.nPublic).map((value) => value.toString());
    if (JSON.stringify(publics) !== JSON.stringify(expected)) wrong(publicPath, `differs from ${witnessPath}`);
    if (!(await groth16.verify(vkey, publics, proof))) wrong(proofPath, "snarkjs does not accept it");
}
console.log(`snarkjs accepts ${files.length / 3}`);
process.exit(0);
