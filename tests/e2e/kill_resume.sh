# kill -9 at random instants until the batch is done: never half a file, nothing proven again after its journal record.
. "$(dirname "$0")/common.sh"
need_snarkjs
total=48
many_witnesses $total
small_conf "$WORK/many/*.wtns" out
printf 'threads = 2\nlanes_per_device = 2\n' >>batch.conf
mkdir out
: >recorded
limit=200 # of milliseconds before the kill; grows, so that slow builds get done as well
runs=0
while :; do
    runs=$((runs + 1))
    "$UZK" run batch.conf >stdout 2>stderr &
    pid=$!
    delay=$(($(od -An -N2 -tu2 /dev/urandom) % limit))
    sleep "$(printf '%d.%03d' $((delay / 1000)) $((delay % 1000)))"
    kill -9 $pid 2>/dev/null || :
    code=0
    wait $pid 2>/dev/null || code=$?
    [ $code -eq 137 ] || break
    # Every name in place is a whole file.
    for path in out/*.json; do
        [ -e "$path" ] || continue
        tail -c 1 "$path" | grep -q '[]}]' || fail "$path is half a file"
    done
    # What the journal records now must stay as it is.
    while read -r name sum; do
        [ "$(cksum <"out/$name")" = "$sum" ] || fail "$name was proven again after its journal record"
    done <recorded
    : >recorded
    [ ! -s out/.uzk.journal ] || "$UZK" inspect out/.uzk.journal >journal || fail "the journal cannot be read"
    for stem in $(grep -o 'w-[0-9][0-9][0-9]' journal 2>/dev/null | sort -u); do
        is_file "out/$stem.proof.json"
        is_file "out/$stem.public.json"
        echo "$stem.proof.json $(cksum <"out/$stem.proof.json")" >>recorded
    done
    limit=$((limit + 20))
done
[ $code -eq 0 ] || fail "exit code $code after $runs runs"
while read -r name sum; do
    [ "$(cksum <"out/$name")" = "$sum" ] || fail "$name was proven again after its journal record"
done <recorded
[ $runs -gt 2 ] || fail "it was never killed in time"
[ -s recorded ] || fail "no run left a record"
judge_folder "$SMALL/vkey.json" out "$WORK/many" $total
no_leftovers out
echo "$runs runs"

# A torn record at the journal's end costs that record only.
cksum out/*.json | sort >before
size=$(wc -c <out/.uzk.journal)
truncate -s $((size - 3)) out/.uzk.journal
expect 0 "$UZK" run batch.conf
cksum out/*.json | sort >after
[ "$(comm -13 before after | wc -l)" -le 2 ] || fail "more than one proof was made again"
# A proof that is gone, or was cut short behind our back, is made again; so is one whose witness has changed.
rm out/w-005.proof.json
truncate -s 10 out/w-006.public.json
sleep 0.01
cp "$SMALL/witness-003.wtns" many/w-007.wtns
expect 0 "$UZK" run batch.conf
judge_folder "$SMALL/vkey.json" out "$WORK/many" $total
cksum out/*.json | sort >last
changed=$(comm -13 after last | sed 's/.*out.//; s/\..*//' | sort -u | tr '\n' ' ')
[ "$changed" = "w-005 w-006 w-007 " ] || fail "made again: $changed"
