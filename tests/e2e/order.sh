# Priorities: with one lane and a simulated device, everything of the urgent job is written before what waits behind it.
. "$(dirname "$0")/common.sh"
many_witnesses 12
{
    printf 'circuit small {\n zkey = "%s"\n}\n' "$SMALL/circuit.zkey"
    for priority in low normal high critical; do
        case $priority in low) set -- 00 ;; normal) set -- 03 ;; high) set -- 06 ;; critical) set -- 09 ;; esac
        first=${1#0}
        printf 'job %s {\n circuit = small\n output = out\n priority = %s\n witnesses = {' "$priority" "$priority"
        printf ' "many/w-%03d.wtns", "many/w-%03d.wtns", "many/w-%03d.wtns" }\n}\n' "$first" $((first + 1)) $((first + 2))
    done
    printf 'devices = { sim }\nlanes_per_device = 1\nlookahead = 1\ndevice sim {\n msm = 60ms\n spread = 0\n}\n'
} >batch.conf
expect 0 "$UZK" run batch.conf
said "12 of 12"
find out -name '*.simulated.json' -printf '%T@ %f\n' | sort -n | sed 's/.* w-0//; s/\..*//' >order
count 12 out/*.simulated.json
# The first two may be anything: they were taken before all else was known.
tail -n +3 order >rest
last=99
while read -r number; do
    rank=$((${number#0} / 3))
    [ "$rank" -le "$last" ] || fail "out of order: $(tr '\n' ' ' <order)"
    last=$rank
done <rest
