# The program as it was linked: position-independent, relocations read-only from the start, no executable stack; canaries and
# checked copies in a release build.
. "$(dirname "$0")/common.sh"
command -v readelf >/dev/null || skip "no readelf"
readelf -W -h "$UZK" | grep -q 'Type: *DYN' || fail "not position-independent"
readelf -W -l "$UZK" | grep -q GNU_RELRO || fail "relocations stay writable"
readelf -W -d "$UZK" | grep -q BIND_NOW || fail "symbols are bound lazily"
readelf -W -l "$UZK" | grep GNU_STACK | grep -q 'RW ' || fail "the stack is executable"
readelf -W --dyn-syms "$UZK" >symbols
if grep -qE '__(asan|tsan)_init' symbols; then
    exit 0 # sanitizers have their own checks
fi
grep -q __stack_chk_fail symbols || fail "no stack canaries"
grep -q '__[a-z]*_chk' symbols || fail "no checked copies"
