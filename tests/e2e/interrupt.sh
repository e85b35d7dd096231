# Ctrl-C once: what a device has in work is finished and kept, the rest can be continued. Twice: the program leaves at once.
. "$(dirname "$0")/common.sh"
total=120
many_witnesses $total

# A shell starts background programs with SIGINT ignored; a terminal doesn't.
start() {
    env --default-signal=INT "$UZK" run batch.conf >stdout 2>stderr &
    pid=$!
}

for signal in INT TERM; do
    small_conf "$WORK/many/*.wtns" out
    start
    until [ -n "$(find . -path './out/*.proof.json')" ]; do
        kill -0 $pid 2>/dev/null || fail "ended before it proved anything"
        sleep 0.05
    done
    kill -$signal $pid
    code=0
    wait $pid || code=$?
    [ $code -eq 1 ] || fail "exit code $code after SIG$signal"
    said stopped
    said canceled
    no_leftovers out
    kept=$(find out -name '*.proof.json' | wc -l)
    [ "$kept" -gt 0 ] && [ "$kept" -lt $total ] || fail "$kept of $total are there"
    if [ $signal = TERM ]; then
        rm -r out
        continue
    fi
    cksum out/*.json >before
    expect 0 "$UZK" run batch.conf
    count $total out/*.proof.json
    cksum out/*.json >after
    [ "$(sort before after | uniq -d | wc -l)" -eq $((2 * kept)) ] || fail "what was kept has been proven again"
    rm -r out
done

# A proof that takes ten minutes, on a simulated device.
small_conf "$SMALL/*.wtns" out
printf 'devices = { sim }\ndevice sim {\n msm = 600s\n}\n' >>batch.conf
start
until [ -s out/.uzk.journal ] || [ -d out ]; do
    kill -0 $pid 2>/dev/null || fail "ended before it began"
    sleep 0.05
done
sleep 0.5
kill -INT $pid
sleep 0.5
kill -0 $pid 2>/dev/null || fail "the first Ctrl-C did not wait for the device"
kill -INT $pid
code=0
wait $pid || code=$?
[ $code -eq 130 ] || fail "exit code $code after the second Ctrl-C"
small_conf "$SMALL/*.wtns" out
expect 0 "$UZK" run batch.conf
count 6 out/*.proof.json
no_leftovers out
