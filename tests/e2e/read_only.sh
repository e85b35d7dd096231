# Inputs that may only be read are enough, and they stay as they are.
. "$(dirname "$0")/common.sh"
chmod 755 "$WORK"
as_user "$UZK" --version >/dev/null 2>&1 || skip "another user cannot run the program where it lies"
mkdir inputs
mkdir -m 777 work
cp "$SMALL/circuit.zkey" "$SMALL"/*.wtns inputs/
chmod 444 inputs/*
chmod 555 inputs
cksum inputs/* >before
cat >batch.conf <<CONF
circuit small {
  zkey = "inputs/circuit.zkey"
}
job spend {
  circuit = small
  witnesses = "inputs/*.wtns"
  output = "work/out"
}
CONF
expect 0 as_user "$UZK" run batch.conf
count 6 work/out/*.proof.json
expect 0 as_user "$UZK" prove inputs/circuit.zkey inputs/witness-000.wtns work/proof.json work/public.json
expect 0 "$UZK" verify "$SMALL/vkey.json" work/public.json work/proof.json
cksum inputs/* | cmp - before || fail "an input has changed"
chmod 755 inputs
