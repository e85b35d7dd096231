# Limits of the process, and standard descriptors that are closed or full: each is told by name or does no harm.
. "$(dirname "$0")/common.sh"

# Files may not grow over 512 bytes (the shell counts in blocks): like a full disk, named, with what to raise; no half file stays.
small_conf "$SMALL/witness-*.wtns" out
(ulimit -f 1 && "$UZK" run batch.conf || echo "code $?") 2>&1 | cat >stdout
: >stderr
said "code 1"
said "ulimit -f"
said "File too large"
count 0 out/*.proof.json
no_leftovers out
(ulimit -f 1 && "$UZK" prove "$SMALL/circuit.zkey" "$SMALL/witness-000.wtns" proof.json public.json || echo "code $?") 2>&1 | cat >stdout
said "code 3"
said "proof.json"
said "ulimit -f"
is_absent proof.json
is_absent public.json
expect 0 "$UZK" run batch.conf
count 6 out/*.proof.json

# Few descriptors, no locked memory, a small stack.
rm -r out
(ulimit -n 64 && ulimit -l 0 && ulimit -s 1024 && "$UZK" run batch.conf) >stdout 2>stderr || fail "with small limits"
count 6 out/*.proof.json
rm -r out
code=0
(ulimit -n 7 && "$UZK" run batch.conf) >stdout 2>stderr || code=$?
[ $code -eq 3 ] || [ $code -eq 1 ] || fail "exit code $code with 7 descriptors"
said "Too many open files"
rm -rf out

# Closed standard descriptors: no output file takes their place and gets the messages.
for closed in '0<&-' '1>&-' '2>&-' '0<&- 1>&- 2>&-'; do
    eval "\"\$UZK\" run batch.conf $closed" >stdout 2>stderr || [ "${closed#*1>}" != "$closed" ] || fail "with $closed"
    count 6 out/*.proof.json
    for proof in out/*.proof.json; do
        expect 0 "$UZK" verify "$SMALL/vkey.json" "${proof%.proof.json}.public.json" "$proof"
    done
    no_leftovers out
    rm -r out
    eval "\"\$UZK\" prove \"\$SMALL/circuit.zkey\" \"\$SMALL/witness-000.wtns\" proof.json public.json $closed" || fail "prove with $closed"
    expect 0 "$UZK" verify "$SMALL/vkey.json" public.json proof.json
    rm proof.json public.json
done

# The summary cannot be written: the proofs are there all the same, and the exit code says that something was refused.
if [ -c /dev/full ]; then
    code=0
    "$UZK" run batch.conf >/dev/full 2>stderr || code=$?
    [ $code -eq 3 ] || fail "exit code $code with a full standard output"
    : >stdout
    said "standard output"
    count 6 out/*.proof.json
fi
