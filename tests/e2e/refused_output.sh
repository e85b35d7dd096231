# Folders and files that cannot be written: named, with the reason; what can be written is.
. "$(dirname "$0")/common.sh"
chmod 755 "$WORK"
as_user "$UZK" --version >/dev/null 2>&1 || skip "another user cannot run the program where it lies"
mkdir -m 555 closed
mkdir -m 777 open
small_conf "$SMALL/witness-*.wtns" "$WORK/closed/out"
cat >>batch.conf <<CONF
job fine {
  circuit = small
  witnesses = "$SMALL/witness-*.wtns"
  output = "open/out"
}
CONF
expect 3 as_user "$UZK" check batch.conf
said closed
code=0
as_user "$UZK" run batch.conf >stdout 2>stderr || code=$?
[ "$code" -ne 0 ] || fail "an output folder that cannot be made is no success"
said closed/out
said "Permission denied"
count 6 open/out/*.proof.json

expect 3 as_user "$UZK" prove "$SMALL/circuit.zkey" "$SMALL/witness-000.wtns" closed/proof.json open/public.json
said closed/proof.json
is_absent open/public.json
expect 3 as_user "$UZK" prove "$SMALL/circuit.zkey" "$SMALL/witness-000.wtns" open/proof.json closed/public.json
is_absent open/proof.json

# A folder in the place of one proof: that partition fails, the others don't.
mkdir -p blocked/witness-003.proof.json/x
small_conf "$SMALL/witness-*.wtns" blocked
expect 1 "$UZK" run batch.conf
said witness-003
rm -r blocked/witness-003.proof.json
expect 0 "$UZK" run batch.conf
count 6 blocked/*.proof.json
no_leftovers blocked

# Two runs on one folder: the second is refused while the first is there.
cat >slow.conf <<CONF
circuit small {
  zkey = "$SMALL/circuit.zkey"
}
job slow {
  circuit = small
  witnesses = "$SMALL/witness-*.wtns"
  output = slow
}
devices = { sim }
device sim {
  msm = 600s
}
CONF
"$UZK" run slow.conf >/dev/null 2>&1 &
first=$!
until [ -s slow/.uzk.journal ] || ! kill -0 $first; do sleep 0.1; done
code=0
"$UZK" run slow.conf >stdout 2>stderr || code=$?
[ $code -ne 0 ] || fail "two runs write to one folder"
said slow
kill -9 $first
wait $first || :
