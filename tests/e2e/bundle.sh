# bundle = true: one file with all proofs in the order of the witnesses, written when the last is done, and not if one fails.
. "$(dirname "$0")/common.sh"
need_snarkjs
small_conf "$SMALL/witness-*.wtns" out "bundle = true"
expect 0 "$UZK" run batch.conf
judge_folder "$SMALL/vkey.json" out "$SMALL" 6
is_file out/spend.bundle.json
cat >check.mjs <<'JS'
import { readFileSync } from "node:fs";
const read = (path) => JSON.parse(readFileSync(path, "utf8"));
const entries = read("out/spend.bundle.json");
const list = Array.isArray(entries) ? entries : entries.proofs;
if (list.length !== 6) throw new Error(`${list.length} entries`);
list.forEach((entry, i) => {
    const stem = `out/witness-00${i}`;
    if (JSON.stringify(entry.proof) !== JSON.stringify(read(`${stem}.proof.json`))) throw new Error(`proof ${i} differs`);
    const publics = entry.public ?? entry.publicSignals;
    if (JSON.stringify(publics) !== JSON.stringify(read(`${stem}.public.json`))) throw new Error(`public ${i} differs`);
});
JS
node check.mjs || fail "the bundle is not what its parts are"

# A later run makes a bundle that is missing, from proofs that are there.
cp out/spend.bundle.json first.json
rm out/spend.bundle.json
expect 0 "$UZK" run batch.conf
cmp out/spend.bundle.json first.json || fail "the bundle made later differs"

mkdir in
cp "$SMALL"/witness-00[01].wtns in/
head -c 100 "$SMALL/witness-002.wtns" >in/witness-002.wtns
small_conf "$WORK/in/*.wtns" some "bundle = true"
expect 1 "$UZK" run batch.conf
said witness-002
count 2 some/*.proof.json
is_absent some/spend.bundle.json
no_leftovers some
