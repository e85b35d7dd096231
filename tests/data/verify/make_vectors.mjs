// Prints tests/unit/pairing_vectors.h: values in the tower Fq6, Fq12 and of the pairing, computed by ffjavascript.
// Run where snarkjs is installed (npm install snarkjs@0.7.5, which brings ffjavascript 0.3.1):
//   node make_vectors.mjs > ../../unit/pairing_vectors.h
// Inputs come from a chain of SHA-256 hashes, so that every run prints the same.
import { createHash } from "crypto";
import { createRequire } from "module";
import { pathToFileURL } from "url";
import path from "path";

const require = createRequire(path.join(process.cwd(), "x.js"));
const { buildBn128 } = await import(pathToFileURL(require.resolve("ffjavascript")));
const curve = await buildBn128(true);
const { G1, G2, Gt } = curve;
const F6 = Gt.F;
const wasm = curve.tm.instance.exports;

let seed = Buffer.from("uzk pairing vectors");
function draw(modulus) {
    seed = createHash("sha256").update(seed).digest();
    return BigInt("0x" + seed.toString("hex")) % modulus;
}
const drawFq2 = () => [draw(curve.q), draw(curve.q)];
const drawFq6 = () => [drawFq2(), drawFq2(), drawFq2()];

// Calls one of ffjavascript's compiled functions, output last.
function call(name, bytes, ...inputs) {
    curve.tm.startSyncOp();
    const pointers = inputs.map((input) => curve.tm.allocBuff(input));
    const output = curve.tm.alloc(bytes);
    wasm[name](...pointers, output);
    const result = curve.tm.getBuff(output, bytes);
    curve.tm.endSyncOp();
    return result.slice();
}

function print(name, values) {
    const lines = values.flat(Infinity).map((value) => `    "${value}",`);
    console.log(`VECTOR ${name}[] = {\n${lines.join("\n")}\n};\n`);
}
const print6 = (name, a) => print(name, F6.toObject(a));
const print12 = (name, a) => print(name, Gt.toObject(a));

console.log(`/* pairing_vectors.h - printed by tests/data/verify/make_vectors.mjs; every value was computed by ffjavascript
 * 0.3.1. Coefficients in the order of the tower: c0 before c1 before c2, at every storey. */
#ifndef TESTS_PAIRING_VECTORS_H
#define TESTS_PAIRING_VECTORS_H

/* Each test uses some of them. */
#define VECTOR __attribute__((unused)) static const char *const
`);

const a6 = F6.fromObject(drawFq6());
const b6 = F6.fromObject(drawFq6());
const v = F6.fromObject([[0n, 0n], [1n, 0n], [0n, 0n]]);
const sparse = F6.fromObject([F6.toObject(b6)[0], F6.toObject(b6)[1], [0n, 0n]]);
print6("vector_fq6_a", a6);
print6("vector_fq6_b", b6);
print6("vector_fq6_sum", F6.add(a6, b6));
print6("vector_fq6_difference", F6.sub(a6, b6));
print6("vector_fq6_product", F6.mul(a6, b6));
print6("vector_fq6_square", F6.square(a6));
print6("vector_fq6_inverse", F6.inv(a6));
print6("vector_fq6_times_v", F6.mul(a6, v));
print6("vector_fq6_times_01", F6.mul(a6, sparse));

const a12 = Gt.fromObject([drawFq6(), drawFq6()]);
const b12 = Gt.fromObject([drawFq6(), drawFq6()]);
print12("vector_fq12_a", a12);
print12("vector_fq12_b", b12);
print12("vector_fq12_product", Gt.mul(a12, b12));
print12("vector_fq12_square", Gt.square(a12));
print12("vector_fq12_inverse", Gt.inv(a12));
print12("vector_fq12_conjugate", call("ftm_conjugate", Gt.n8, a12));
for (const power of [1, 2, 3]) {
    print12(`vector_fq12_frobenius${power}`, call(`bn128__frobeniusMap${power}`, Gt.n8, a12));
}
const line = Gt.fromObject([
    [[1n, 0n], [0n, 0n], [0n, 0n]],
    [Gt.toObject(b12)[0][0], Gt.toObject(b12)[0][1], [0n, 0n]],
]);
print12("vector_fq12_times_line", Gt.mul(a12, line)); // 1 + b.c0.c0 w + b.c0.c1 w^3
const easy = Gt.mul(call("ftm_conjugate", Gt.n8, a12), Gt.inv(a12));
const cyclotomic = Gt.mul(easy, call("bn128__frobeniusMap2", Gt.n8, easy));
print12("vector_fq12_cyclotomic", cyclotomic);
print12("vector_fq12_cyclotomic_square", Gt.square(cyclotomic));

print12("vector_pairing_last_of_a", curve.finalExponentiation(a12));
print12("vector_pairing_generators", curve.pairing(G1.g, G2.g));
const p = G1.toAffine(G1.timesFr(G1.g, curve.Fr.e(draw(curve.r))));
const q = G2.toAffine(G2.timesFr(G2.g, curve.Fr.e(draw(curve.r))));
print("vector_pairing_p", G1.toObject(p).slice(0, 2));
print("vector_pairing_q", G2.toObject(q).slice(0, 2));
print12("vector_pairing_p_q", curve.pairing(p, q));
console.log("#endif");
process.exit(0);
