// node bad_files.mjs CIRCUIT_FOLDER OTHER_FOLDER OUT - writes damaged copies of CIRCUIT_FOLDER's key and witness to OUT and
// prints a line for each: name, a tab, a word that the message about it must have. Layouts: iden3's binary file format.
import { readFileSync, writeFileSync } from "node:fs";

const [folder, other, out] = process.argv.slice(2);
const key = readFileSync(`${folder}/circuit.zkey`), witness = readFileSync(`${folder}/witness-000.wtns`);

// Section type -> { head: offset of its header, at: offset of its bytes, size }
function sections(file) {
    const found = {};
    for (let at = 12, i = 0; i < file.readUInt32LE(8); i++) {
        const size = Number(file.readBigUInt64LE(at + 4));
        found[file.readUInt32LE(at)] = { head: at, at: at + 12, size };
        at += 12 + size;
    }
    return found;
}

function write(name, word, bytes) {
    writeFileSync(`${out}/${name}`, bytes);
    console.log(`${name}\t${word}`);
}

function changed(file, change) {
    const copy = Buffer.from(file);
    change(copy);
    return copy;
}

const k = sections(key), w = sections(witness), h = k[2].at;
const counts = h + 4 + 32 + 4 + 32; // wires, publics, domain
write("empty.zkey", "", Buffer.alloc(0));
write("magic.zkey", "", changed(key, (b) => b.write("yekz", 0)));
write("text.zkey", "", Buffer.from("this is no proving key at all, whatever its name says\n"));
write("version.zkey", "version", changed(key, (b) => b.writeUInt32LE(7, 4)));
write("witness.zkey", "", witness);
write("plonk.zkey", "PLONK", changed(key, (b) => b.writeUInt32LE(2, k[1].at)));
write("fflonk.zkey", "FFLONK", changed(key, (b) => b.writeUInt32LE(10, k[1].at)));
write("protocol.zkey", "77", changed(key, (b) => b.writeUInt32LE(77, k[1].at)));
write("prime.zkey", "curve", changed(key, (b) => { b[h + 4] ^= 1; }));
write("order.zkey", "curve", changed(key, (b) => { b[h + 4 + 32 + 4] ^= 1; }));
write("wires.zkey", "", changed(key, (b) => b.writeUInt32LE(0xffffffff, counts)));
write("publics.zkey", "", changed(key, (b) => b.writeUInt32LE(100000, counts + 4)));
write("domain.zkey", "domain", changed(key, (b) => b.writeUInt32LE(1000, counts + 8)));
write("wraps.zkey", "section 4", changed(key, (b) => b.writeBigUInt64LE(0xffffffffffffffffn, k[4].head + 4)));
write("long.zkey", "section 5", changed(key, (b) => b.writeBigUInt64LE(1n << 40n, k[5].head + 4)));
write("many.zkey", "", changed(key, (b) => b.writeUInt32LE(0xffffffff, 8)));
write("missing.zkey", "section 8", changed(key, (b) => b.writeUInt32LE(99, k[8].head)));
write("twice.zkey", "section 5", changed(key, (b) => b.writeUInt32LE(5, k[6].head)));
write("count.zkey", "coefficients", changed(key, (b) => b.writeUInt32LE(0x7fffffff, k[4].at)));
write("matrix.zkey", "coefficient", changed(key, (b) => b.writeUInt32LE(2, k[4].at + 4)));
write("row.zkey", "coefficient", changed(key, (b) => b.writeUInt32LE(1024, k[4].at + 8)));
write("wire.zkey", "coefficient", changed(key, (b) => b.writeUInt32LE(535, k[4].at + 12)));
write("value.zkey", "coefficient", changed(key, (b) => b.fill(0xff, k[4].at + 16, k[4].at + 48)));
write("alpha.zkey", "curve", changed(key, (b) => { b[counts + 12] ^= 1; }));
for (const type of [3, 5, 6, 7, 8, 9]) {
    const size = type === 7 ? 128 : 64, last = k[type].at + k[type].size - size;
    write(`off-curve-${type}.zkey`, "curve", changed(key, (b) => b.fill(1, last, last + size)));
}
write("field.zkey", "", changed(key, (b) => b.fill(0xff, k[5].at + 64, k[5].at + 96)));
for (const [type, s] of Object.entries(k)) {
    if (type === "10") continue; // the contributions, which no prover needs
    write(`cut-head-${type}.zkey`, "", key.subarray(0, s.head + 5));
    write(`cut-start-${type}.zkey`, "", key.subarray(0, s.at));
    write(`cut-end-${type}.zkey`, "", key.subarray(0, s.at + s.size - 1));
}

write("empty.wtns", "", Buffer.alloc(0));
write("magic.wtns", "", changed(witness, (b) => b.write("sntw", 0)));
write("version.wtns", "version", changed(witness, (b) => b.writeUInt32LE(9, 4)));
write("prime.wtns", "", changed(witness, (b) => { b[w[1].at + 4] ^= 1; }));
write("count.wtns", "", changed(witness, (b) => b.writeUInt32LE(0xffffffff, w[1].at + 4 + 32)));
write("short.wtns", "", witness.subarray(0, witness.length - 1));
write("head.wtns", "", witness.subarray(0, 20));
write("wraps.wtns", "", changed(witness, (b) => b.writeBigUInt64LE(0xfffffffffffffff0n, w[2].head + 4)));
write("value.wtns", "", changed(witness, (b) => b.fill(0xff, w[2].at + 64, w[2].at + 96)));
write("first.wtns", "", changed(witness, (b) => { b[w[2].at] = 2; }));
write("other.wtns", "", readFileSync(`${other}/witness-000.wtns`));
write("unsatisfied.wtns", "", changed(witness, (b) => { b[w[2].at + 32 * 300] ^= 1; }));
