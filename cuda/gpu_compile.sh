#!/bin/sh
# nvcc's launcher: keeps what ptxas says about each kernel beside the object, in OBJECT.ptxas, where tests/device/resources.sh
# reads it, and lets everything else through.
object= previous=
for word in "$@"; do
    [ "$previous" != -o ] || object=$word
    previous=$word
done
[ -n "$object" ] || exec "$@"
code=0
"$@" 2>"$object.ptxas" || code=$?
grep -Ev '^ptxas info|^ +[0-9]+ bytes stack frame' "$object.ptxas" >&2
exit "$code"
