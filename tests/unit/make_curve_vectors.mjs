// Prints curve_vectors.h: `node make_curve_vectors.mjs > curve_vectors.h`. All values come from ffjavascript
// (its BigInt fields, its WebAssembly curve), an implementation independent of ours. Inputs are the hashes of
// their own names, so a second run prints the same file.
import { createHash } from "node:crypto";
import { createRequire } from "node:module";
import { buildBn128, F1Field, Scalar } from "../node_modules/ffjavascript/main.js";

const version = createRequire(import.meta.url)("../node_modules/ffjavascript/package.json").version;
const q = Scalar.fromString("21888242871839275222246405745257275088696311157297823662689037894645226208583");
const r = Scalar.fromString("21888242871839275222246405745257275088548364400416034343698204186575808495617");

function number(name, modulus) {
    return BigInt("0x" + createHash("sha256").update(name).digest("hex")) % modulus;
}

const out = [];
out.push("/* curve_vectors.h - printed by make_curve_vectors.mjs; every value was computed by ffjavascript " + version + ". */");
out.push("#ifndef TESTS_CURVE_VECTORS_H", "#define TESTS_CURVE_VECTORS_H", "", "#include <stddef.h>", "");
out.push("/* Each test uses some of them. */", "#define VECTOR __attribute__((unused)) static const char *const", "");
function print(name, values) {
    out.push(`VECTOR vector_${name}[] = {`);
    for (const value of values) out.push(`    "${value}",`);
    out.push("};", "");
}

for (const [name, modulus] of [["fq", q], ["fr", r]]) {
    const F = new F1Field(modulus);
    out.push(`/* a, b, a + b, a - b, a * b, a^2, 1/a, -a, a^b */`, `enum { VECTORS_${name.toUpperCase()} = 9 };`, "");
    const rows = [];
    const pairs = [[1n, modulus - 1n], [modulus - 1n, modulus - 1n], [modulus - 2n, 2n]];
    for (let i = 0; i < 9; i++) pairs.push([number(`${name} a ${i}`, modulus), number(`${name} b ${i}`, modulus)]);
    for (const [a, b] of pairs) {
        rows.push(a, b, F.add(a, b), F.sub(a, b), F.mul(a, b), F.square(a), F.inv(a), F.neg(a), F.pow(a, b));
    }
    print(name, rows);
}

const curve = await buildBn128(true);
const F2 = curve.F2;
function fq2(name) {
    return F2.fromObject([number(name + " c0", q), number(name + " c1", q)]);
}
{
    const rows = [];
    const xi = F2.fromObject([9n, 1n]);
    for (let i = 0; i < 8; i++) {
        const a = fq2(`fq2 a ${i}`), b = fq2(`fq2 b ${i}`);
        for (const value of [a, b, F2.add(a, b), F2.sub(a, b), F2.mul(a, b), F2.square(a), F2.inv(a), F2.neg(a), F2.mul(a, xi)]) {
            rows.push(...F2.toObject(value));
        }
    }
    out.push("/* a, b, a + b, a - b, a * b, a^2, 1/a, -a, a * (9 + u), each c0 then c1 */", "");
    print("fq2", rows);
}

function affine(G, point) {
    return G.toObject(G.toAffine(point)).slice(0, 2).flat();
}
for (const [name, G] of [["g1", curve.G1], ["g2", curve.G2]]) {
    out.push(`/* k, l, k*G, l*G, k*G + l*G, 2*k*G, k*G - l*G as affine coordinates (k and l are one number each) */`, "");
    const rows = [];
    for (let i = 0; i < 6; i++) {
        const k = number(`${name} k ${i}`, r), l = number(`${name} l ${i}`, r);
        const P = G.timesScalar(G.g, k), Q = G.timesScalar(G.g, l);
        rows.push(k, l, ...affine(G, P), ...affine(G, Q), ...affine(G, G.add(P, Q)), ...affine(G, G.double(P)), ...affine(G, G.sub(P, Q)));
    }
    print(name, rows);

    // The points are (i + 1)^2 G, i < n; the scalars hashes of their index.
    const n = 300;
    const points = new Uint8Array(n * G.F.n8 * 2);
    const scalars = new Uint8Array(n * 32);
    for (let i = 0; i < n; i++) {
        points.set(G.toAffine(G.timesScalar(G.g, BigInt((i + 1) * (i + 1)))), i * G.F.n8 * 2);
        Scalar.toRprLE(scalars, i * 32, number(`msm ${i}`, r), 32);
    }
    out.push("/* sum of s_i (i + 1)^2 G over i < 300, s_i = SHA-256(\"msm <i>\") mod r */", "");
    print(name + "_msm", affine(G, await G.multiExpAffine(points, scalars)));
}
{
    // x = i + u for the first i with a square x^3 + b: r times the point isn't infinity (checked).
    for (let i = 1n; ; i++) {
        const x = F2.fromObject([i, 1n]);
        const b = F2.div(F2.fromObject([3n, 0n]), F2.fromObject([9n, 1n]));
        const yy = F2.add(F2.mul(F2.square(x), x), b);
        const Fq = new F1Field(q);
        const [c0, c1] = F2.toObject(yy);
        if (Fq.pow(Fq.add(Fq.square(c0), Fq.square(c1)), (q - 1n) / 2n) !== 1n) continue; // no square: nor its norm
        const y = F2.sqrt(yy);
        const point = new Uint8Array(128);
        point.set(x, 0);
        point.set(y, 64);
        if (curve.G2.isZero(curve.G2.timesScalar(point, r))) throw new Error("in the subgroup");
        out.push("/* on the curve, outside the subgroup */", "");
        print("g2_outside", [F2.toObject(x), F2.toObject(y)].flat());
        break;
    }
}
{
    const rows = [];
    for (let i = 0; i < 300; i++) rows.push(number(`msm ${i}`, r));
    print("msm_scalars", rows);
}
out.push("#endif");
console.log(out.join("\n"));
await curve.terminate();
