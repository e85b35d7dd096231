# What a run has read is not missed when it changes on the disk: the proving key, the configuration and witnesses that are
# cut off, replaced or deleted while the run goes on.
. "$(dirname "$0")/common.sh"
need_snarkjs
mkdir in key
cp "$CLOSED/circuit.zkey" key/
for name in first second; do echo '{}' >"in/$name.json"; done
# The second waits until the first is proven, so the key is in use, and then spoils every file of the run.
cat >generate <<'SH'
#!/bin/sh
case $1 in
    *second*)
        while [ ! -e out/first.proof.json ]; do sleep 0.05; done
        : >key/circuit.zkey
        echo 'circuit {' >batch.conf
        rm in/first.json
        ;;
esac
cp "$CLOSED/witness-000.wtns" "$2"
SH
chmod +x generate
cat >batch.conf <<CONF
circuit closed {
  zkey = "key/circuit.zkey"
}
job spoilt {
  circuit = closed
  inputs = "in/*.json"
  witness_command = { "./generate", "{input}", "{witness}" }
  output = out
}
CONF
export CLOSED
expect 0 "$UZK" run batch.conf
count 2 out/*.proof.json
judge "$CLOSED/vkey.json" out/first.proof.json out/first.public.json "$CLOSED/witness-000.wtns" \
    out/second.proof.json out/second.public.json "$CLOSED/witness-000.wtns"
no_leftovers out

# A key that is cut off or replaced before it is loaded is named, with what is wrong. The witness command's first call does
# it, and the circuit is loaded for the second job's partition only then.
cp "$CLOSED/circuit.zkey" key/
mkdir two
echo '{}' >two/one.json
cat >cut <<'SH'
#!/bin/sh
truncate -s 2000 key/circuit.zkey
cp "$CLOSED/witness-000.wtns" "$2"
SH
chmod +x cut
cat >cut.conf <<CONF
circuit closed {
  zkey = "key/circuit.zkey"
}
job cut {
  circuit = closed
  inputs = "two/*.json"
  witness_command = { "./cut", "{input}", "{witness}" }
  output = cut_out
}
CONF
code=0
"$UZK" run cut.conf >stdout 2>stderr || code=$?
# Whether the key was loaded before or after is the scheduler's affair; either is right, a crash is not.
case $code in
    0) count 1 cut_out/*.proof.json ;;
    1) said key/circuit.zkey && said one && count 0 cut_out/*.proof.json ;;
    *) fail "exit code $code" ;;
esac

# A witness that was replaced between two runs is proven anew; one that was not isn't.
mkdir many
cp "$SMALL/witness-000.wtns" "$SMALL/witness-002.wtns" many/
small_conf "many/*.wtns" again
expect 0 "$UZK" run batch.conf
said "2 of 2"
cp "$SMALL/witness-001.wtns" many/witness-000.wtns
before=$(cat again/witness-002.proof.json)
expect 0 "$UZK" run batch.conf
judge_folder "$SMALL/vkey.json" again many 2
[ "$before" = "$(cat again/witness-002.proof.json)" ] || fail "proved witness-002 again"
