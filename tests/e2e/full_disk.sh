# A file system that fills up in the middle of a batch (a small tmpfs of our own).
if [ "${INNER:-}" != 1 ]; then
    flags=-m
    [ "$(id -u)" -eq 0 ] || flags=-rm
    if ! unshare $flags sh -c 'mount -t tmpfs -o size=64k none /mnt' 2>/dev/null; then
        echo "skipped: no permission to mount a tmpfs"
        exit 77
    fi
    INNER=1 exec unshare $flags sh "$0"
fi
. "$(dirname "$0")/common.sh"
mkdir disk
mount -t tmpfs -o size=64k none disk
many_witnesses 40
small_conf "$WORK/many/*.wtns" disk/out
expect 1 "$UZK" run batch.conf
said "No space left on device"
no_leftovers disk/out
found=$(find disk/out -name '*.proof.json' | wc -l)
[ "$found" -gt 0 ] && [ "$found" -lt 40 ] || fail "$found proofs on a disk for a few"
for proof in disk/out/*.proof.json; do
    stem=$(basename "$proof" .proof.json)
    expect 0 "$UZK" verify "$SMALL/vkey.json" "disk/out/$stem.public.json" "$proof"
done
count "$found" disk/out/*.public.json
expect 3 "$UZK" prove "$SMALL/circuit.zkey" "$SMALL/witness-000.wtns" disk/full.json disk/public.json
is_absent disk/full.json

mount -o remount,size=4m disk
expect 0 "$UZK" run batch.conf
count 40 disk/out/*.proof.json
for proof in disk/out/*.proof.json; do
    stem=$(basename "$proof" .proof.json)
    expect 0 "$UZK" verify "$SMALL/vkey.json" "disk/out/$stem.public.json" "$proof"
done
umount disk
