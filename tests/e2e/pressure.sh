# policy = pressure: works where the system tells its memory pressure, and says what is missing where it does not.
. "$(dirname "$0")/common.sh"
small_conf "$SMALL/witness-*.wtns" out
printf 'trim {\n policy = pressure\n}\n' >>batch.conf
if [ -w /proc/pressure/memory ]; then
    expect 0 "$UZK" run batch.conf
    said "(policy pressure, "
    count 6 out/*.proof.json
fi
# The same with an empty folder in its place. Nothing else changes: another policy still runs there.
hidden() {
    unshare --mount sh -c 'mount -t tmpfs none /proc/pressure && exec "$@"' sh "$@"
}
hidden true 2>/dev/null || skip "no mount namespace here, so /proc/pressure can't be hidden"
expect 3 hidden "$UZK" run batch.conf
said "/proc/pressure/memory: does not exist"
said "CONFIG_PSI"
said "choose another policy in trim { }"
sed -i 's/pressure/timer/' batch.conf
expect 0 hidden "$UZK" run batch.conf

# The system's own trigger, of the processors in place of the memory, which is easily made short: twice as many busy loops
# as there are processors.
pressed() {
    unshare --mount sh -c 'mount --bind /proc/pressure/cpu /proc/pressure/memory && exec "$@"' sh "$@"
}
pressed test -w /proc/pressure/memory 2>/dev/null || skip "no pressure stall information here"
small_conf "$SMALL/witness-*.wtns" pressed
printf 'devices = { sim }\nlanes_per_device = 1\ndevice sim {\n msm = 1500ms\n}\n' >>batch.conf
printf 'trim {\n policy = pressure\n interval = 100ms\n}\n' >>batch.conf
busy=0
loops=
while [ "$busy" -lt $(($(nproc) * 2)) ]; do
    while [ -e "$WORK" ]; do :; done & # none outlives this case, however it ends
    loops="$loops $!"
    busy=$((busy + 1))
done
expect 0 pressed "$UZK" run batch.conf
kill $loops
grep -qE 'trims +[1-9][0-9]* \(policy pressure' stdout || fail "no trim under pressure"
