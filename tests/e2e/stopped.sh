# A run that is stopped for a while (SIGSTOP) goes on as if nothing had been; SIGTERM and SIGHUP end it in order, but SIGHUP not
# under nohup.
. "$(dirname "$0")/common.sh"
total=60
many_witnesses $total
some() { [ -n "$(find . -path './out/*.proof.json')" ] || ! kill -0 "$pid" 2>/dev/null; }
state() { sed 's/.*) //; s/ .*//' "/proc/$pid/stat"; }

small_conf "$WORK/many/*.wtns" out
"$UZK" run batch.conf >stdout 2>stderr &
pid=$!
until_true some
for stop in 1 2 3; do
    kill -STOP $pid
    until_true [ "$(state)" = T ]
    sleep 1
    kill -CONT $pid
    sleep 0.1
done
code=0
wait $pid || code=$?
[ $code -eq 0 ] || fail "exit code $code after it was stopped"
count $total out/*.proof.json
no_leftovers out
for proof in out/w-00*.proof.json; do
    expect 0 "$UZK" verify "$SMALL/vkey.json" "${proof%.proof.json}.public.json" "$proof"
done
rm -r out

for signal in TERM HUP; do
    "$UZK" run batch.conf >stdout 2>stderr &
    pid=$!
    until_true some
    kill -$signal $pid
    code=0
    wait $pid || code=$?
    [ $code -eq 1 ] || fail "exit code $code after SIG$signal"
    said stopped
    no_leftovers out
    expect 0 "$UZK" run batch.conf
    count $total out/*.proof.json
    rm -r out
done

nohup "$UZK" run batch.conf >stdout 2>stderr &
pid=$!
until_true some
kill -HUP $pid
code=0
wait $pid || code=$?
[ $code -eq 0 ] || fail "exit code $code under nohup"
count $total out/*.proof.json
