# Two programs on one output folder or one journal: the second is refused, by name, whichever way it spells the folder, and harms
# nothing; when the first is gone, however it went, the second may.
. "$(dirname "$0")/common.sh"

# slow OUTPUT FILE: a run that takes ten minutes, on a simulated device.
slow() {
    small_conf "$SMALL/witness-*.wtns" "$1"
    printf 'devices = { sim }\ndevice sim {\n msm = 600s\n}\n' >>batch.conf
    mv batch.conf "$2"
}
slow out first.conf
"$UZK" run first.conf >/dev/null 2>&1 &
first=$!
until_true [ -s out/.uzk.journal ]
kill -0 $first || fail "the first run ended"
ln -s out link
mkdir other
for spelling in out ./out/ out/../out link "$WORK/out" other/../link/.; do
    small_conf "$SMALL/witness-*.wtns" "$spelling"
    code=0
    "$UZK" run batch.conf >stdout 2>stderr || code=$?
    [ $code -eq 3 ] || fail "$spelling: exit code $code"
    said "another uzk run is writing to this folder"
    count 0 out/*.proof.json
done

# A run with two jobs, of which one goes there, is refused as a whole, before it begins.
small_conf "$SMALL/witness-*.wtns" link
cat >>batch.conf <<CONF
job free {
  circuit = small
  witnesses = "$SMALL/witness-*.wtns"
  output = free
}
CONF
code=0
"$UZK" run batch.conf >stdout 2>stderr || code=$?
[ $code -eq 3 ] || fail "exit code $code"
said "another uzk run is writing to this folder"
count 0 free/*.proof.json out/*.proof.json

# Killed, it leaves nothing that keeps the next one out.
kill -9 $first
wait $first || :
small_conf "$SMALL/witness-*.wtns" link
expect 0 "$UZK" run batch.conf
count 6 out/*.proof.json
no_leftovers out

# Many at the same instant: one of them proves everything, or they do so one after the other; none writes half a file.
small_conf "$SMALL/witness-*.wtns" together
pids=
for run in 1 2 3 4; do
    "$UZK" run batch.conf >"stdout.$run" 2>"stderr.$run" &
    pids="$pids $!"
done
good=0
for pid in $pids; do
    code=0
    wait "$pid" || code=$?
    case $code in 0) good=$((good + 1)) ;; 1 | 3) ;; *) fail "exit code $code" ;; esac
done
[ $good -gt 0 ] || fail "none of four runs went through"
count 6 together/*.proof.json
no_leftovers together
for proof in together/*.proof.json; do
    expect 0 "$UZK" verify "$SMALL/vkey.json" "${proof%.proof.json}.public.json" "$proof"
done
expect 0 "$UZK" run batch.conf
said "6 of 6"
