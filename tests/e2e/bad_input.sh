# Damaged files: one clear message that names the file, exit code 2, no output; in a batch only their own work fails.
. "$(dirname "$0")/common.sh"
need_snarkjs
mkdir bad
node "$SOURCE/tests/e2e/bad_files.mjs" "$SMALL" "$CLOSED" bad >table || fail "bad_files.mjs"
[ "$(wc -l <table)" -gt 60 ] || fail "the table is short"
tab=$(printf '\t')
while IFS=$tab read -r name word; do
    case $name in
        unsatisfied.wtns) # Well-formed, so only the self-check can tell that no proof of it verifies.
            expect 1 "$UZK" prove "$SMALL/circuit.zkey" "bad/$name" proof.json public.json ;;
        *.zkey) expect 2 "$UZK" prove "bad/$name" "$SMALL/witness-000.wtns" proof.json public.json ;;
        *) expect 2 "$UZK" prove "$SMALL/circuit.zkey" "bad/$name" proof.json public.json ;;
    esac
    grep -q "^uzk: .*bad/$name" stderr || fail "$name is not named"
    [ -z "$word" ] || grep -qi -- "$word" stderr || fail "$name: nothing said about $word"
    [ "$(wc -l <stderr)" -le 2 ] || fail "$name: more than a sentence or two"
    is_absent proof.json
    is_absent public.json
done <table
# A witness of another circuit: both lengths are named.
expect 2 "$UZK" prove "$SMALL/circuit.zkey" bad/other.wtns proof.json public.json
said 535
said 21
expect 2 "$UZK" prove "$SMALL/circuit.zkey" none.wtns proof.json public.json
said none.wtns
expect 2 "$UZK" prove "$WORK" "$SMALL/witness-000.wtns" proof.json public.json

# A batch of the bad witnesses and two good ones.
cp "$SMALL/witness-001.wtns" bad/good-1.wtns
cp "$SMALL/witness-004.wtns" bad/good-4.wtns
small_conf "$WORK/bad/*.wtns" out
expect 2 "$UZK" check batch.conf
expect 1 "$UZK" run batch.conf
for path in bad/*.wtns; do
    case $path in bad/good-*) not_said "spend/$(basename "$path" .wtns):" ;; *) said "spend/$(basename "$path" .wtns)" ;; esac
done
judge_folder "$SMALL/vkey.json" out "$WORK/bad" 2
no_leftovers out
expect 1 "$UZK" run batch.conf

# Bad keys beside a good one.
for name in off-curve-9 cut-end-9 plonk empty wire; do
    cat >keys.conf <<CONF
circuit bad {
  zkey = "bad/$name.zkey"
}
circuit small {
  zkey = "$SMALL/circuit.zkey"
}
job broken {
  circuit = bad
  witnesses = "$SMALL/witness-00[0-2].wtns"
  output = "broken-$name"
  priority = critical
}
job sound {
  circuit = small
  witnesses = "$SMALL/witness-00[0-2].wtns"
  output = "sound-$name"
}
CONF
    expect 2 "$UZK" check keys.conf
    said "bad/$name.zkey"
    expect 1 "$UZK" run keys.conf
    said "bad/$name.zkey"
    judge_folder "$SMALL/vkey.json" "sound-$name" "$SMALL" 3
    count 0 "broken-$name"/*.proof.json
done
