# allocator = NAME: the program runs itself again on it, trims with it, and says so. One whose library is missing is refused.
. "$(dirname "$0")/common.sh"
ran=
for allocator in glibc tcmalloc jemalloc mimalloc; do
    small_conf "$SMALL/witness-*.wtns" "out-$allocator"
    printf 'allocator = %s\nbuffers = heap\ntrace = "run.trace"\ntrim {\n policy = inline\n}\n' "$allocator" >>batch.conf
    code=0
    "$UZK" run batch.conf >stdout 2>stderr || code=$?
    if [ "$code" -eq 3 ]; then
        said "allocator \"$allocator\" needs"
        said "install the package"
        is_absent "out-$allocator"
        echo "without $allocator: its library is not installed"
        continue
    fi
    [ "$code" -eq 0 ] || fail "exit code $code with $allocator"
    count 6 "out-$allocator"/*.proof.json
    said "trims 6 (policy inline, $allocator)"
    expect 0 "$UZK" inspect run.trace
    said "allocator $allocator"
    ran="$ran $allocator"
    # A library that is found but not the one in place is no reason to go on.
    expect 0 "$UZK" check batch.conf
    said "allocator = $allocator"
done
case $ran in
*glibc*) ;;
*) fail "not even glibc" ;;
esac
[ "$ran" != " glibc" ] || skip "no other allocator's library is installed"

# Witness commands find the environment as it was.
last=${ran##* }
cat >batch.conf <<EOF
circuit small {
 zkey = "$SMALL/circuit.zkey"
}
job made {
 circuit = small
 inputs = "$SMALL/witness-000.wtns"
 witness_command = { "sh", "-c", "test -z \"\$LD_PRELOAD\" && cp \"\$1\" \"\$2\"", "sh", "{input}", "{witness}" }
 output = "made"
}
allocator = $last
EOF
expect 0 env -u LD_PRELOAD "$UZK" run batch.conf

# The configuration that is there for comparing them.
expect 0 env ALLOCATOR="$last" POLICY=inline BUFFERS=heap "$UZK" check "$SOURCE/conf/compare.conf"
said "allocator = $last"
expect 0 env -u ALLOCATOR "$UZK" check "$SOURCE/conf/compare.conf"
said "allocator = glibc"
expect 2 env POLICY=often "$UZK" check "$SOURCE/conf/compare.conf"

printf 'allocator = dlmalloc\n' >>batch.conf
expect 2 "$UZK" run batch.conf
