# Ctrl-C once: what a device has in work is finished and kept, the rest can be continued. Twice: the program leaves at once.
. "$(dirname "$0")/common.sh"
many_witnesses 12
slow_conf() {
    cat >slow.conf <<CONF
circuit small {
  zkey = "$SMALL/circuit.zkey"
}
job slow {
  circuit = small
  witnesses = "many/*.wtns"
  output = out
}
devices = { sim }
lanes_per_device = 1
device sim {
  msm = $1
}
CONF
}
# A shell starts background programs with SIGINT ignored; a terminal doesn't.
start() {
    env --default-signal=INT "$UZK" run slow.conf >stdout 2>stderr &
    pid=$!
}
for signal in INT TERM; do
    slow_conf 300ms
    start
    until [ -n "$(find . -path './out/*.simulated.json')" ]; do
        kill -0 $pid 2>/dev/null || fail "ended before it proved anything"
        sleep 0.05
    done
    kill -$signal $pid
    code=0
    wait $pid || code=$?
    [ $code -eq 1 ] || fail "exit code $code after SIG$signal"
    no_leftovers out
    kept=$(find out -name '*.simulated.json' | wc -l)
    [ "$kept" -gt 0 ] && [ "$kept" -lt 12 ] || fail "$kept of 12 are there"
    find out -name '*.simulated.json' -printf '%f %i %T@\n' | sort >before
    slow_conf 5ms
    expect 0 "$UZK" run slow.conf
    count 12 out/*.simulated.json
    find out -name '*.simulated.json' -printf '%f %i %T@\n' | sort >after
    [ "$(comm -12 before after | wc -l)" -eq "$kept" ] || fail "what was kept has been made again"
    rm -r out
done

slow_conf 600s
start
until grep -qs . out/.uzk.journal || [ -n "$(find . -path './out*')" ]; do sleep 0.05; done
sleep 0.5
kill -INT $pid
sleep 0.5
kill -0 $pid || fail "the first Ctrl-C did not wait for the device"
kill -INT $pid
code=0
wait $pid || code=$?
[ $code -eq 130 ] || fail "exit code $code after the second Ctrl-C"
slow_conf 5ms
expect 0 "$UZK" run slow.conf
count 12 out/*.simulated.json
no_leftovers out
