// Prints cases.json: proofs for two keys, sound and tampered with, each with the verdict of snarkjs. The first key is
// Semaphore's; the second is made up here from known secrets, so that proofs with points at infinity can hold.
//   node make_cases.mjs SEMAPHORE_FOLDER > cases.json
// Run where snarkjs is installed (npm install snarkjs@0.7.6). The proofs are random, so every run prints others.
import { createRequire } from "module";
import { pathToFileURL } from "url";
import fs from "fs";
import path from "path";

const require = createRequire(path.join(process.cwd(), "x.js"));
const snarkjs = require("snarkjs");
const { buildBn128, ChaCha } = require("ffjavascript");
const folder = process.argv[2];
const curve = await buildBn128(true);
const { G1, G2, F1, F2, Fr } = curve;
const key = JSON.parse(fs.readFileSync(path.join(folder, "vkey.json"), "utf8"));

const prove = (witness) => snarkjs.groth16.prove(path.join(folder, "circuit.zkey"), path.join(folder, witness));
const first = await prove("witness-000.wtns");
const second = await prove("witness-001.wtns");

const strings = (value) => JSON.parse(JSON.stringify(value, (_, v) => (typeof v === "bigint" ? v.toString() : v)));
const g1 = (point) => G1.fromObject(point.map(BigInt));
const g2 = (point) => G2.fromObject(point.map((pair) => pair.map(BigInt)));
const text1 = (point) => strings(G1.toObject(G1.toAffine(point)));
const text2 = (point) => strings(G2.toObject(G2.toAffine(point)));
const clone = (value) => JSON.parse(JSON.stringify(value));
const rng = new ChaCha([1, 2, 3, 4, 5, 6, 7, 8]);

const cases = [];
const degenerate = [];
async function judge(list, vkey, entry) {
    try {
        entry.snarkjs = (await snarkjs.groth16.verify(clone(vkey), entry.public, entry.proof)) ? "valid" : "invalid";
    } catch (error) {
        entry.snarkjs = "throws";
    }
    list.push(entry);
}
async function add(name, change, stricter) {
    const proof = clone(first.proof);
    const publics = clone(first.publicSignals);
    const changed = change(proof, publics) ?? {};
    await judge(cases, key, { name, proof: changed.proof ?? proof, public: changed.publics ?? publics, stricter });
}

// Still a proof
await add("untouched", () => {});
await add("another blinding", () => ({ proof: second.proof, publics: second.publicSignals }));
await add("a and b negated", (p) => {
    p.pi_a = text1(G1.neg(g1(p.pi_a)));
    p.pi_b = text2(G2.neg(g2(p.pi_b)));
});
await add("a times 7 and b divided by 7", (p) => {
    p.pi_a = text1(G1.timesFr(g1(p.pi_a), Fr.e(7)));
    p.pi_b = text2(G2.timesFr(g2(p.pi_b), Fr.inv(Fr.e(7))));
});
await add("c moved by delta along b", (p) => {
    // (A, B + t delta, C + t A) holds as well.
    p.pi_b = text2(G2.add(g2(p.pi_b), G2.timesFr(g2(key.vk_delta_2), Fr.e(5))));
    p.pi_c = text1(G1.add(g1(p.pi_c), G1.timesFr(g1(p.pi_a), Fr.e(5))));
});

// Other public values
for (let i = 0; i < first.publicSignals.length; i++) {
    await add(`public value ${i} plus one`, (_, w) => {
        w[i] = (BigInt(w[i]) + 1n).toString();
    });
}
await add("public values of another proof", () => ({ publics: second.publicSignals }));
await add("first two public values swapped", (_, w) => {
    [w[0], w[1]] = [w[1], w[0]];
});
await add("public values all zero", (_, w) => ({ publics: w.map(() => "0") }));
await add("public value plus r", (_, w) => {
    w[0] = (BigInt(w[0]) + curve.r).toString();
});
await add("public value r", (_, w) => {
    w[0] = curve.r.toString();
});
await add("one public value less", (_, w) => ({ publics: w.slice(0, -1) }));
await add("one public value more", (_, w) => ({ publics: [...w, "0"] }));

// Other points
const infinity1 = ["0", "1", "0"];
const infinity2 = [["0", "0"], ["1", "0"], ["0", "0"]];
for (const name of ["pi_a", "pi_c"]) {
    await add(`${name} negated`, (p) => {
        p[name] = text1(G1.neg(g1(p[name])));
    });
    await add(`${name} is infinity`, (p) => {
        p[name] = infinity1;
    });
    await add(`${name} is the generator`, (p) => {
        p[name] = text1(G1.g);
    });
    await add(`${name} off the curve`, (p) => {
        p[name][1] = (BigInt(p[name][1]) ^ 1n).toString();
    });
    await add(`${name} of another proof`, (p) => {
        p[name] = second.proof[name];
    });
}
await add("pi_a and pi_c swapped", (p) => {
    [p.pi_a, p.pi_c] = [p.pi_c, p.pi_a];
});
await add("pi_b negated", (p) => {
    p.pi_b = text2(G2.neg(g2(p.pi_b)));
});
await add("pi_b is infinity", (p) => {
    p.pi_b = infinity2;
});
await add("pi_a and pi_b are infinity", (p) => {
    p.pi_a = infinity1;
    p.pi_b = infinity2;
});
await add("all points are infinity", (p) => {
    p.pi_a = infinity1;
    p.pi_b = infinity2;
    p.pi_c = infinity1;
});
await add("pi_b is the generator", (p) => {
    p.pi_b = text2(G2.g);
});
await add("pi_b off the curve", (p) => {
    p.pi_b[1][0] = (BigInt(p.pi_b[1][0]) ^ 1n).toString();
});
await add("pi_b with its limbs swapped", (p) => {
    p.pi_b = p.pi_b.map(([c0, c1]) => [c1, c0]);
});
await add("pi_b of another proof", (p) => {
    p.pi_b = second.proof.pi_b;
});
await add("pi_b on the curve, outside the subgroup", (p) => {
    p.pi_b = text2(curvePoint());
});
await add("pi_b moved out of the subgroup", (p) => {
    // Adds a point of an order prime to r.
    p.pi_b = text2(G2.add(g2(p.pi_b), G2.timesScalar(curvePoint(), curve.r)));
});

// Encodings that snarkjs takes
await add("coordinate plus q", (p) => {
    p.pi_a[0] = (BigInt(p.pi_a[0]) + curve.q).toString();
}, "coordinates are below q");
await add("last coordinate 2", (p) => {
    p.pi_a = [
        ((BigInt(p.pi_a[0]) * 4n) % curve.q).toString(),
        ((BigInt(p.pi_a[1]) * 8n) % curve.q).toString(),
        "2",
    ];
}, "points are affine");
await add("hexadecimal coordinate", (p) => {
    p.pi_a[0] = "0x" + BigInt(p.pi_a[0]).toString(16);
}, "numbers are decimal");

function curvePoint() {
    for (;;) {
        const x = F2.fromRng(rng);
        const square = F2.add(F2.mul(F2.square(x), x), G2.b);
        if (F2.isSquare(square)) {
            const point = new Uint8Array(128);
            point.set(x);
            point.set(F2.sqrt(square), 64);
            if (!G2.isValid(point)) {
                throw new Error("not on the curve");
            }
            return point;
        }
    }
}

// A key whose secrets are known: alpha = 3, beta = 5, gamma = 7, delta = 11, IC = 13, 17, infinity.
const times1 = (scalar) => text1(G1.timesFr(G1.g, Fr.e(scalar)));
const times2 = (scalar) => text2(G2.timesFr(G2.g, Fr.e(scalar)));
const known = {
    protocol: "groth16", curve: "bn128", nPublic: 2, vk_alpha_1: times1(3n),
    vk_beta_2: times2(5n), vk_gamma_2: times2(7n), vk_delta_2: times2(11n), IC: [times1(13n), times1(17n), infinity1],
};
async function addKnown(name, w, a, b, miss = 0n) {
    // C = (a b - alpha beta - (13 + 17 w) gamma) / delta
    const rest = Fr.e(a * b - 15n - (13n + 17n * w) * 7n + miss);
    const proof = {
        pi_a: times1(a), pi_b: times2(b), pi_c: text1(G1.timesFr(G1.g, Fr.div(rest, Fr.e(11)))),
        protocol: "groth16", curve: "bn128",
    };
    await judge(degenerate, known, { name, proof, public: [w.toString(), "123"] });
}
await addKnown("known secrets", 19n, 23n, 29n);
await addKnown("known secrets, missed by one", 19n, 23n, 29n, 1n);
await addKnown("value zero", 0n, 23n, 29n);
await addKnown("a is infinity", 19n, 0n, 29n);
await addKnown("a is infinity, missed by one", 19n, 0n, 29n, 1n);
await addKnown("b is infinity", 19n, 23n, 0n);
await addKnown("a and b are infinity", 19n, 0n, 0n);
await addKnown("c is infinity", 0n, 106n, 1n);
await addKnown("c is infinity, missed", 0n, 107n, 1n, -1n);
const minus = Fr.toObject(Fr.div(Fr.e(-13), Fr.e(17)));
await addKnown("sum of IC is infinity", minus, 23n, 29n);
await addKnown("sum of IC and c are infinity", minus, 5n, 3n);
await addKnown("sum of IC and c are infinity, missed by one", minus, 5n, 3n, 1n);

console.log(JSON.stringify([{ vkey: key, cases }, { vkey: known, cases: degenerate }], null, 1));
process.exit(0);
