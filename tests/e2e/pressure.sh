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
