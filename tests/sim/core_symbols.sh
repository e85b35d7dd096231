#!/bin/sh
# The pure core must stay pure: its library may need nothing but these functions from outside, and its sources hold no
# floating point. Usage: core_symbols.sh NM LIBRARY SOURCE...
set -eu
nm=$1
library=$2
shift 2
# bcmp is what clang makes of a memcmp that only asks for equality.
allowed='^(memcpy|memset|memcmp|memmove|bcmp|check_failed|error_[a-z_]+)$'
# What compilers add on their own: sanitizers, coverage, stack protector, checked copies.
added='^(__asan_|__ubsan_|__tsan_|__sanitizer_|__gcov_|__llvm_|__stack_chk_fail|__mem(cpy|set|move)_chk|_GLOBAL_OFFSET_TABLE_)'
symbols=$(mktemp)
trap 'rm -f "$symbols"' EXIT
"$nm" "$library" >"$symbols"
needed=$(awk 'NF == 2 && $1 == "U" { print $2 }' "$symbols" | sort -u)
defined=$(awk 'NF == 3 && $2 ~ /[TDRBVW]/ { print $3 }' "$symbols" | sort -u)
test -n "$defined" || {
    echo "$library defines nothing: is it the core's library?" >&2
    exit 1
}
status=0
for symbol in $needed; do
    if echo "$defined" | grep -qxF "$symbol" || echo "$symbol" | grep -qE "$allowed|$added"; then
        continue
    fi
    echo "the core needs $symbol, which is not on its list" >&2
    status=1
done
for source in "$@"; do
    # Comments go first, since they may say "double"; includes too, since headers of the system are not meant.
    if sed '/^#include/d' "$source" | ${CC:-cc} -x c -E -P - | grep -nwE 'float|double'; then
        echo "$source uses floating point" >&2
        status=1
    fi
done
exit $status
