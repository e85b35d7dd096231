#!/bin/sh
# core_symbols.sh libuzk_core.a - the pure core calls no system function, no clock and no allocator: what it leaves undefined
# is on this short list. Sanitizers and the compiler's own helpers may add their names.
set -eu
archive=$1
allowed='memcpy memset memcmp memmove check_failed'
helpers='^(__asan_|__tsan_|__ubsan_|__sanitizer_|__stack_chk_fail$|_GLOBAL_OFFSET_TABLE_$|__mem(cpy|set|move)_chk$|__tls_get_addr$)'

defined=$(mktemp)
trap 'rm -f "$defined"' EXIT
nm --defined-only "$archive" 2>/dev/null | awk 'NF == 3 { print $3 }' | sort -u >"$defined"
[ -s "$defined" ] || { echo "$archive defines nothing" >&2; exit 1; }
fault=0
for symbol in $(nm -u "$archive" 2>/dev/null | awk 'NF == 2 { print $2 }' | sort -u | comm -23 - "$defined"); do
    case " $allowed " in *" $symbol "*) continue ;; esac
    if ! echo "$symbol" | grep -Eq "$helpers"; then
        echo "the core calls $symbol" >&2
        fault=1
    fi
done
exit $fault
