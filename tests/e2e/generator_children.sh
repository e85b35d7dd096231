# What witness commands leave: children, folders and links in their witness' place, halves of files, megabytes. None of it
# outlasts the run, harms another partition or gets outside.
. "$(dirname "$0")/common.sh"
mkdir in outside
echo kept >outside/file
cat >generate <<'SH'
#!/bin/sh
case $1 in
    *good*) cp "$CLOSED/witness-000.wtns" "$2" ;;
    *half*) head -c 400 "$CLOSED/witness-000.wtns" >"$2" ;;
    *child*) cp "$CLOSED/witness-000.wtns" "$2"; sleep 600 & echo $! >"$WORK/child" ;;
    *folder*) mkdir -p "$2/deep/deeper"; echo x >"$2/deep/file" ;;
    *outlink*) ln -s "$WORK/outside" "$2" ;;
    *filelink*) ln -s "$CLOSED/witness-000.wtns" "$2" ;;
    *fifo*) mkfifo "$2" ;;
    *beside*) cp "$CLOSED/witness-000.wtns" "$2"; mkdir -p "$2.more"; ln -s "$WORK/outside" "$2.more/link"; echo x >"$2.more/file" ;;
    *huge*) head -c 20000000 /dev/zero >"$2" ;;
    *floods*) head -c 8000000 /dev/zero | tr '\0' 'x'; head -c 8000000 /dev/zero | tr '\0' 'y' >&2; cp "$CLOSED/witness-000.wtns" "$2" ;;
    *writes*) cp "$CLOSED/witness-000.wtns" "$2"; (sleep 1; echo late >>"$2") & ;;
    *deaf*) trap '' TERM INT HUP; echo $$ >"$WORK/deaf"; while :; do sleep 1; done ;;
esac
SH
chmod +x generate
kinds="good half child folder outlink filelink fifo beside huge floods writes deaf"
for kind in $kinds; do echo '{}' >"in/$kind.json"; done
cat >batch.conf <<CONF
circuit closed {
  zkey = "$CLOSED/circuit.zkey"
}
job odd {
  circuit = closed
  inputs = "in/*.json"
  witness_command = { "./generate", "{input}", "{witness}" }
  witness_timeout = 3s
  output = out
}
CONF
export CLOSED WORK
expect 1 "$UZK" run batch.conf
for kind in half folder outlink fifo huge deaf; do
    said "$kind"
    is_absent "out/$kind.proof.json"
done
for kind in good child beside floods; do
    expect 0 "$UZK" verify "$CLOSED/vkey.json" "out/$kind.public.json" "out/$kind.proof.json"
done
no_leftovers out
[ "$(ls outside)" = file ] && [ "$(cat outside/file)" = kept ] || fail "something outside was changed"
cmp -s "$CLOSED/witness-000.wtns" "$DATA/circuit-closed/witness-000.wtns" || fail "a link was followed"
until_true gone "$(cat child)"
until_true gone "$(cat deaf)"

# A run that is ended takes its commands with it, at once when it is killed, too.
cat >sleeper <<'SH'
#!/bin/sh
sleep 600 &
echo $! >"$WORK/sleeping.$$"
mv "$WORK/sleeping.$$" "$WORK/sleeping"
wait
SH
chmod +x sleeper
sed 's|"./generate"|"./sleeper"|; s/witness_timeout.*/witness_timeout = 10m/; s/output = out/output = again/' batch.conf >sleep.conf
for signal in TERM HUP; do
    rm -f sleeping
    "$UZK" run sleep.conf >stdout 2>stderr &
    pid=$!
    until_true [ -s sleeping ]
    kill -$signal $pid
    code=0
    wait $pid || code=$?
    [ $code -eq 1 ] || fail "exit code $code after SIG$signal"
    until_true gone "$(cat sleeping)"
    no_leftovers again
done
