// Writes the input files of the two circuits. Everything is computed here, from small fixed numbers; the hash is the
// one of circuit-small/circuit.circom.
import { writeFileSync } from "node:fs";

const r = 21888242871839275222246405745257275088548364400416034343698204186575808495617n;
const mod = (x) => ((x % r) + r) % r;
const fifth = (x) => mod(mod(mod(x * x) * mod(x * x)) * x);

function absorb(state, word) {
    let x = mod(state + word), constant = 1n;
    for (let i = 0n; i < 12n; i++) {
        x = fifth(x + constant);
        constant = mod(constant * constant + 5n * i + 3n);
    }
    return mod(x + word);
}
const hash2 = (left, right) => absorb(absorb(7n, left), right);

const depth = 4;
const notes = [];
for (let i = 0n; i < 16n; i++) {
    notes.push({ secret: 1000003n * (i + 1n), amount: i == 3n ? 0n : 250n * i * i + i });
}
const levels = [notes.map((note) => hash2(note.secret, note.amount))];
while (levels.at(-1).length > 1) {
    const below = levels.at(-1), level = [];
    for (let i = 0; i < below.length; i += 2) level.push(hash2(below[i], below[i + 1]));
    levels.push(level);
}

const write = (path, value) => writeFileSync(path, JSON.stringify(value, (_, v) => typeof v === "bigint" ? v.toString() : v, 1) + "\n");

[0, 3, 5, 10, 14, 15].forEach((leaf, number) => {
    const side = [], sibling = [];
    for (let level = 0, at = leaf; level < depth; level++, at >>= 1) {
        side.push(BigInt(at & 1));
        sibling.push(levels[level][at ^ 1]);
    }
    write(`circuit-small/input-00${number}.json`, {
        root: levels[depth][0], limit: number == 2 ? notes[leaf].amount : 4294967295n, topic: BigInt(number) * 11n,
        secret: notes[leaf].secret, amount: notes[leaf].amount, side, sibling });
});
write("circuit-closed/input-000.json", { p: 53n, q: 61n });
write("circuit-closed/input-001.json", { p: 61n, q: 53n });
