// node differential.mjs UZK DATA FRESH SEED
// `uzk verify` and snarkjs over proofs, public values and verification keys that were changed in every way we could think
// of: FRESH/proof.json and public.json (just proven, of circuit-small), and those of circuit-small and circuit-closed in DATA,
// which snarkjs made. uzk must never accept what snarkjs doesn't; what snarkjs alone accepts must belong to a kind in
// `stricter`, and a kind in which that no longer occurs fails, too. SEED draws scalars and points; equal seeds, equal cases.
import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { getCurveFromName } from "ffjavascript";
import { groth16 } from "snarkjs";

const [uzk, data, fresh, seed] = process.argv.slice(2);
const read = (path) => JSON.parse(readFileSync(path, "utf8"));
const curve = await getCurveFromName("bn128");
const { G1, G2, Fr } = curve;
const p = 21888242871839275222246405745257275088696311157297823662689037894645226208583n;
const r = 21888242871839275222246405745257275088548364400416034343698204186575808495617n;

// Where uzk refuses what snarkjs accepts, by class, and why. SECURITY.md tells users.
const stricter = {
    "a number in hexadecimal": "one value, one spelling: who keeps a list of seen proofs compares texts",
    "coordinate not below p": "snarkjs reduces it, so that a point has several spellings",
    "coordinate of 256 bits or more": "snarkjs cuts it off at 256 bits, and so reads another number than the text's",
    "third coordinate": "snarkjs takes a missing one for 1 and does not look at a fourth",
    "proof's protocol or curve": "snarkjs' library does not look at them in a proof",
    "value not a number": "snarkjs takes an empty text, an empty list for zero",
    "value in hexadecimal": "one value, one spelling",
    "too few values": "snarkjs counts what is missing as zero",
    "no list of values": "snarkjs takes what has no length for an empty list",
    "key's count": "snarkjs does not look at nPublic",
    "key's list too long": "snarkjs does not look at the rest of IC",
    "key's protocol": "snarkjs' library does not look at it",
};

let state = BigInt(seed) * 2n + 1n;
function draw(below) {
    state = (state * 6364136223846793005n + 1442695040888963407n) & ((1n << 64n) - 1n);
    return Number((state >> 33n) % BigInt(below));
}
const drawScalar = () => BigInt(draw(1 << 30)) * BigInt(draw(1 << 30)) * BigInt(draw(1 << 30)) + 2n;

// ---- points, as snarkjs' own curve computes them ----

const strings = (value) => (Array.isArray(value) ? value.map(strings) : value.toString());
const numbers = (value) => (Array.isArray(value) ? value.map(numbers) : BigInt(value));
const load = (group, point) => group.fromObject(numbers(point));
const store = (group, point) => strings(group.toObject(group.toAffine(point)));
const times = (group, point, scalar) => store(group, group.timesFr(load(group, point), Fr.e(scalar)));
const sum = (group, a, b) => store(group, group.add(load(group, a), load(group, b)));
const negative = (group, point) => store(group, group.neg(load(group, point)));

// ---- a point of the twist's curve outside the subgroup: whatever x gives a y ----

const mod = (a) => ((a % p) + p) % p;
function power(base, exponent) {
    let result = 1n;
    for (base = mod(base); exponent > 0n; exponent >>= 1n, base = (base * base) % p) {
        if (exponent & 1n) result = (result * base) % p;
    }
    return result;
}
const root = (a) => {
    const candidate = power(a, (p + 1n) / 4n);
    return (candidate * candidate) % p === mod(a) ? candidate : null;
};
const times2 = ([a, b], [c, d]) => [mod(a * c - b * d), mod(a * d + b * c)];
function root2([a, b]) {
    const norm = root(a * a + b * b);
    if (norm === null) return null;
    for (const sign of [1n, -1n]) {
        const x = root(mod(a + sign * norm) * power(2n, p - 2n));
        if (x === null || x === 0n) continue;
        const y = mod(b * power(2n * x, p - 2n));
        const [u, v] = times2([x, y], [x, y]);
        if (u === mod(a) && v === mod(b)) return [x, y];
    }
    return null;
}
function twistPoint() {
    const ninth = times2([3n, 0n], [9n, p - 1n]).map((v) => mod(v * power(82n, p - 2n))); // 3 / (9 + u)
    for (;;) {
        const x = [BigInt(draw(1 << 30)), BigInt(draw(1 << 30))];
        const cube = times2(times2(x, x), x);
        const y = root2([mod(cube[0] + ninth[0]), mod(cube[1] + ninth[1])]);
        if (y !== null) return strings([x, y, [1n, 0n]]);
    }
}

// ---- cases ----

const cases = [];
const copy = (value) => JSON.parse(JSON.stringify(value));
// change(kit): gets copies of the three values to change.
function add(kind, name, kit, change) {
    const changed = copy(kit);
    const result = change(changed) ?? changed;
    cases.push({ kind, name: `${kit.name}: ${name}`, ...result });
}

const plainInfinity = (point) => (Array.isArray(point[0]) ? [["0", "0"], ["1", "0"], ["0", "0"]] : ["0", "1", "0"]);
const coordinates = (point) =>
    Array.isArray(point[0]) ? [[0, 1], [1, 0]] : [[0], [1]];
const at = (point, path) => path.reduce((value, index) => value[index], point);
function put(point, path, value) {
    if (path.length === 2) point[path[0]][path[1]] = value;
    else point[path[0]] = value;
}

function spellings(value) {
    const number = BigInt(value);
    return {
        "a number in hexadecimal": ["0x" + number.toString(16)],
        "a number with a leading zero": ["0" + value],
        "not a number": ["", " ", "abc", "-1", "+" + value, value + "n", "1e3", "0x", " " + value, value + "\n", null, {}, [], true],
        "a number without quotes": [1],
        "coordinate not below p": [(number + p).toString(), (number + 2n * p).toString()],
        "coordinate of 256 bits or more": [(number + (1n << 256n)).toString(), (1n << 600n).toString()],
        "coordinate changed": [p.toString(), (number ^ 1n).toString(), "0", "1", (p - 1n).toString()],
    };
}

function proofCases(kit) {
    const groups = { pi_a: G1, pi_b: G2, pi_c: G1 };
    for (const [name, group] of Object.entries(groups)) {
        const point = kit.proof[name];
        add("point negated", `${name} negated`, kit, (k) => { k.proof[name] = negative(group, point); });
        add("another point", `${name} doubled`, kit, (k) => { k.proof[name] = times(group, point, 2n); });
        add("infinity", `${name} at infinity`, kit, (k) => { k.proof[name] = plainInfinity(point); });
        add("third coordinate", `${name} without a third coordinate`, kit, (k) => { k.proof[name].pop(); });
        add("third coordinate", `${name} with a fourth`, kit, (k) => { k.proof[name].push(k.proof[name][2]); });
        add("third coordinate", `${name} with third coordinate 2`, kit, (k) => {
            k.proof[name][2] = group === G1 ? "2" : ["2", "0"];
        });
        add("infinity spelled otherwise", `${name}, all zero`, kit, (k) => {
            k.proof[name] = group === G1 ? ["0", "0", "0"] : [["0", "0"], ["0", "0"], ["0", "0"]];
        });
        add("infinity spelled otherwise", `${name}, third coordinate 0`, kit, (k) => {
            k.proof[name][2] = group === G1 ? "0" : ["0", "0"];
        });
        add("infinity spelled otherwise", `${name}, (0, 0, 1)`, kit, (k) => {
            k.proof[name] = group === G1 ? ["0", "0", "1"] : [["0", "0"], ["0", "0"], ["1", "0"]];
        });
        add("point missing", `no ${name}`, kit, (k) => { delete k.proof[name]; });
        add("point missing", `${name} null`, kit, (k) => { k.proof[name] = null; });
        for (const path of kit.name === "circuit-small" ? coordinates(point) : []) {
            for (const [kind, values] of Object.entries(spellings(at(point, path)))) {
                for (const value of values) {
                    add(kind, `${name}[${path}] = ${JSON.stringify(value)}`, kit, (k) => put(k.proof[name], path, value));
                }
            }
        }
    }
    for (const sign of [["pi_a", "pi_b"], ["pi_a", "pi_c"], ["pi_b", "pi_c"], ["pi_a", "pi_b", "pi_c"]]) {
        add("several points negated", `${sign} negated`, kit, (k) => {
            for (const name of sign) k.proof[name] = negative(groups[name], k.proof[name]);
        });
    }
    add("infinity", "all points at infinity", kit, (k) => {
        for (const name of Object.keys(groups)) k.proof[name] = plainInfinity(k.proof[name]);
    });
    add("infinity", "A and B at infinity", kit, (k) => {
        for (const name of ["pi_a", "pi_b"]) k.proof[name] = plainInfinity(k.proof[name]);
    });
    for (let i = 0; i < 4; i++) {
        const x = drawScalar();
        add("another proof of the same", `A times ${x}, B divided by it`, kit, (k) => {
            k.proof.pi_a = times(G1, k.proof.pi_a, x);
            k.proof.pi_b = store(G2, G2.timesFr(load(G2, k.proof.pi_b), Fr.inv(Fr.e(x))));
        });
        add("another proof of the same", `B plus ${x} delta, C plus ${x} A`, kit, (k) => {
            k.proof.pi_b = sum(G2, k.proof.pi_b, times(G2, k.vkey.vk_delta_2, x));
            k.proof.pi_c = sum(G1, k.proof.pi_c, times(G1, k.proof.pi_a, x));
        });
        add("another point", `A times ${x}`, kit, (k) => { k.proof.pi_a = times(G1, k.proof.pi_a, x); });
        const outside = twistPoint();
        add("off the subgroup", "B somewhere on the twist", kit, (k) => { k.proof.pi_b = outside; });
        add("off the subgroup", "B plus something on the twist", kit, (k) => { k.proof.pi_b = sum(G2, k.proof.pi_b, outside); });
    }
    add("swapped", "B's limbs swapped", kit, (k) => { k.proof.pi_b = k.proof.pi_b.map(([a, b]) => [b, a]); });
    add("swapped", "A and C swapped", kit, (k) => { [k.proof.pi_a, k.proof.pi_c] = [k.proof.pi_c, k.proof.pi_a]; });
    for (const [member, value] of [["protocol", "plonk"], ["curve", "bls12381"], ["protocol", undefined], ["curve", undefined]]) {
        add("proof's protocol or curve", `${member} ${value}`, kit, (k) => { k.proof[member] = value; });
    }
    add("unknown member", "another member", kit, (k) => { k.proof.more = 1; });
    for (const value of [null, [], "proof", 7]) {
        add("no proof", `proof is ${JSON.stringify(value)}`, kit, (k) => ({ ...k, proof: value }));
    }
}

function publicCases(kit) {
    for (let i = 0; i < (kit.name === "circuit-small" ? kit.publics.length : 0); i++) {
        const value = kit.publics[i];
        const wrong = {
            "value not below r": [(BigInt(value) + r).toString(), r.toString(), (BigInt(value) + (1n << 256n)).toString()],
            "value changed": [(BigInt(value) ^ 1n).toString(), (r - 1n).toString(), "0"],
            "value in hexadecimal": ["0x" + BigInt(value).toString(16)],
            "value with a leading zero": ["0" + value],
            "value not a number": ["", "-1", "x", " " + value, null, {}, []],
        };
        for (const [kind, values] of Object.entries(wrong)) {
            for (const changed of values) {
                if (changed === value) continue;
                add(kind, `public ${i} = ${JSON.stringify(changed)}`, kit, (k) => { k.publics[i] = changed; });
            }
        }
    }
    add("too many values", "a zero more", kit, (k) => { k.publics.push("0"); });
    add("too many values", "three more", kit, (k) => { k.publics.push("1", "2", "3"); });
    if (kit.publics.length > 0) {
        add("too few values", "one less", kit, (k) => { k.publics.pop(); });
        add("too few values", "none", kit, (k) => { k.publics = []; });
        add("value changed", "in reverse", kit, (k) => { k.publics.reverse(); });
    }
    for (const value of [null, {}, "0", 3]) {
        add("no list of values", `publics are ${JSON.stringify(value)}`, kit, (k) => ({ ...k, publics: value }));
    }
}

function keyCases(kit) {
    const points = { vk_alpha_1: G1, vk_beta_2: G2, vk_gamma_2: G2, vk_delta_2: G2 };
    for (const [name, group] of Object.entries(points)) {
        add("key's point changed", `${name} negated`, kit, (k) => { k.vkey[name] = negative(group, k.vkey[name]); });
        add("key's point changed", `${name} doubled`, kit, (k) => { k.vkey[name] = times(group, k.vkey[name], 2n); });
        add("key's point at infinity", `${name} at infinity`, kit, (k) => { k.vkey[name] = plainInfinity(k.vkey[name]); });
        add("key's point off its curve", `${name}, x + 1`, kit, (k) => {
            const path = group === G1 ? [0] : [0, 0];
            put(k.vkey[name], path, ((BigInt(at(k.vkey[name], path)) + 1n) % p).toString());
        });
        add("key's member missing", `no ${name}`, kit, (k) => { delete k.vkey[name]; });
    }
    for (const name of ["vk_beta_2", "vk_gamma_2", "vk_delta_2"]) {
        add("key's point off the subgroup", name, kit, (k) => { k.vkey[name] = twistPoint(); });
    }
    kit.vkey.IC.forEach((point, i) => {
        add("key's point changed", `IC[${i}] negated`, kit, (k) => { k.vkey.IC[i] = negative(G1, point); });
    });
    add("key's list too short", "IC too short", kit, (k) => { k.vkey.IC.pop(); });
    add("key's list too long", "IC too long", kit, (k) => { k.vkey.IC.push(k.vkey.IC[0]); });
    add("key's count", "nPublic one more", kit, (k) => { k.vkey.nPublic += 1; });
    add("key's count", "nPublic -1", kit, (k) => { k.vkey.nPublic = -1; });
    add("key's member missing", "no IC", kit, (k) => { delete k.vkey.IC; });
    add("key's count", "no nPublic", kit, (k) => { delete k.vkey.nPublic; });
    add("key's table", "no vk_alphabeta_12", kit, (k) => { delete k.vkey.vk_alphabeta_12; });
    add("key's protocol", "protocol plonk", kit, (k) => { k.vkey.protocol = "plonk"; });
    add("key's curve", "curve bls12381", kit, (k) => { k.vkey.curve = "bls12381"; });
    add("key's curve", "curve bn254", kit, (k) => { k.vkey.curve = "bn254"; });
}

// ---- verdicts ----

function uzkVerdict({ vkey, publics, proof }) {
    const files = Object.entries({ vkey, publics, proof }).map(([name, value]) => {
        writeFileSync(`${name}.json`, JSON.stringify(value));
        return `${name}.json`;
    });
    const { status, signal } = spawnSync(uzk, ["verify", ...files], { stdio: "ignore" });
    return signal ?? status;
}

async function snarkjsVerdict({ vkey, publics, proof }) {
    try {
        return await groth16.verify(vkey, publics, proof);
    } catch {
        return "throws";
    }
}

const kits = ["circuit-small", "circuit-closed"].map((name) => ({
    name, vkey: read(`${data}/${name}/vkey.json`), publics: read(`${data}/${name}/public.json`), proof: read(`${data}/${name}/proof.json`),
}));
kits.push({ ...copy(kits[0]), name: "fresh", publics: read(`${fresh}/public.json`), proof: read(`${fresh}/proof.json`) });
for (const kit of kits) {
    add("as it is", "unchanged", kit, () => {});
    proofCases(kit);
    publicCases(kit);
    keyCases(kit);
}

function wrong(one, why) {
    console.error(`${one}: ${why}`);
    process.exitCode = 1;
}

const seen = new Set();
let accepted = 0;
for (const one of cases) {
    const mine = uzkVerdict(one), theirs = await snarkjsVerdict(one);
    const name = `${one.kind}: ${one.name}`;
    if (mine !== 0 && mine !== 1 && mine !== 2) {
        wrong(name, `uzk ended with ${mine}`);
    } else if (one.kind === "as it is" ? mine !== 0 : mine === 0 && theirs !== true) {
        wrong(name, `uzk says ${mine}, snarkjs ${theirs}`);
    } else if (mine !== 0 && theirs === true) {
        if (stricter[one.kind] === undefined) wrong(name, "snarkjs accepts it, uzk does not, and no reason is given");
        seen.add(one.kind);
    }
    accepted += mine === 0;
}
for (const kind of Object.keys(stricter)) {
    if (!seen.has(kind)) wrong(kind, "no longer differs");
}
console.log(`${cases.length} cases, both accept ${accepted}; uzk alone refuses ${seen.size} kinds`);
process.exit();
