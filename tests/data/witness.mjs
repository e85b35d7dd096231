// node witness.mjs CIRCUIT.wasm INPUT.json WITNESS.wtns - a witness generator as users have it: circom's compiled
// circuit, driven by snarkjs (from ../node_modules; run `npm ci` in tests/ once). Exits 1 and says why on a bad input.
import { readFileSync } from "node:fs";
import { wtns } from "snarkjs";

const [wasm, input, witness] = process.argv.slice(2);
try {
    await wtns.calculate(JSON.parse(readFileSync(input, "utf8")), wasm, witness);
    process.exit(0);
} catch (error) {
    console.error(`witness.mjs: ${input}: ${error.message ?? error}`);
    process.exit(1);
}
