# A witness command: circom's own generator; one bad input, one that fails, hangs or writes nonsense never harms the rest.
. "$(dirname "$0")/common.sh"
need_snarkjs
mkdir in
cp "$CLOSED"/input-00[01].json in/
printf '{"p": 5, "q": 6}\n' >in/input-002.json
cat >batch.conf <<CONF
circuit closed {
  zkey = "$CLOSED/circuit.zkey"
}
job factors {
  circuit = closed
  inputs = "in/*.json"
  witness_command = { node, "$DATA/witness.mjs", "$CLOSED/circuit.wasm", "{input}", "{witness}" }
  output = out
}
CONF
expect 1 "$UZK" run batch.conf
said input-002
said "Assert Failed"
count 2 out/*.proof.json
judge "$CLOSED/vkey.json" out/input-000.proof.json out/input-000.public.json "$CLOSED/witness-000.wtns" \
    out/input-001.proof.json out/input-001.public.json "$CLOSED/witness-001.wtns"
no_leftovers out

# The odd ones, each in its own way. {input} and {witness} may stand within an argument.
cat >generate <<'SH'
#!/bin/sh
case $1 in
    *good*) cp "$CLOSED/witness-000.wtns" "$2" ;;
    *silent*) exit 3 ;;
    *nothing*) exit 0 ;;
    *nonsense*) echo nonsense >"$2" ;;
    *killed*) kill -9 $$ ;;
    *loud*) i=0; while [ $i -lt 20000 ]; do echo "line $i of a long story"; i=$((i + 1)); done; echo "the last words" >&2; exit 1 ;;
    *hangs*) sleep 600 & echo $! >"$SLEEPER"; wait ;;
esac
SH
chmod +x generate
mkdir odd
for kind in good silent nothing nonsense killed loud hangs; do echo '{}' >"odd/$kind.json"; done
cat >odd.conf <<CONF
circuit closed {
  zkey = "$CLOSED/circuit.zkey"
}
job odd {
  circuit = closed
  inputs = "odd/*.json"
  witness_command = { "./generate", "a {input}", "{witness}" }
  witness_timeout = 2s
  output = oddities
}
CONF
export CLOSED SLEEPER="$WORK/sleeper"
expect 1 "$UZK" run odd.conf
for kind in silent nothing nonsense killed loud hangs; do said "$kind"; done
said "the last words"
count 1 oddities/*.proof.json
judge "$CLOSED/vkey.json" oddities/good.proof.json oddities/good.public.json "$CLOSED/witness-000.wtns"
no_leftovers oddities
# The hanging one's children went with it (a zombie counts as gone).
for round in 1 2 3 4 5 6 7 8 9 10; do
    state=$(sed 's/.*) //; s/ .*//' "/proc/$(cat sleeper)/stat" 2>/dev/null || echo gone)
    case $state in gone | Z) break ;; esac
    sleep 0.2
done
case $state in gone | Z) ;; *) fail "the hanging command's child still runs" ;; esac
