# Wrong usage: exit code 2 and a sentence; asking for help: exit code 0.
. "$(dirname "$0")/common.sh"
expect 0 "$UZK" --version
said 0.1.0
expect 0 "$UZK" --help
for command in prove verify run check inspect devices; do
    said "$command"
    expect 0 "$UZK" "$command" --help
    expect 0 "$UZK" --help
done
expect 0 "$UZK" devices
said cpu
expect 2 "$UZK"
expect 2 "$UZK" prov a b c d
said prove
expect 2 "$UZK" prove
expect 2 "$UZK" prove a b c
expect 2 "$UZK" prove a b c d e
expect 2 "$UZK" prove --colour a b c d
expect 2 "$UZK" run
expect 2 "$UZK" verify a b
expect 2 "$UZK" inspect
expect 0 "$UZK" inspect "$SMALL/circuit.zkey"
said "2^10"
expect 0 "$UZK" inspect "$SMALL/witness-000.wtns"
said 535
expect 0 "$UZK" inspect "$SMALL/proof.json"
expect 0 "$UZK" inspect "$SMALL/vkey.json"
expect 2 "$UZK" inspect "$SMALL/circuit.circom"
printf 'colour = red\n' >batch.conf
expect 2 "$UZK" run batch.conf
said "batch.conf:1: no such option 'colour'"
expect 2 "$UZK" check batch.conf
said "batch.conf:1: no such option 'colour'"
[ ! -s stdout ] || fail "a message on standard output"
