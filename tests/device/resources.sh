#!/bin/sh
# Prints what each kernel takes on each architecture that was built, and fails if one takes more than cuda/gpu_resources.txt
# allows: what ptxas said, as cuda/gpu_compile.sh kept it.
#
#   resources.sh TABLE OBJECT...
set -eu
table=$1
shift
for object in "$@"; do
    [ -s "$object.ptxas" ] || { echo "FAILED: $object.ptxas: what ptxas said is not there" >&2; exit 1; }
    sed "s/Compiling entry function '\([^']*\)' for '\([^']*\)'.*/entry \1 \2/" "$object.ptxas"
done | c++filt | sed 's/gpu_field<gpu_\(f.\)_constants>/gpu_\1/g; s/ >/>/g' | awk -v table="$table" '
# Of an architecture: shared memory of a multiprocessor in KiB and its threads (CUDA C++ Programming Guide, compute
# capabilities). All have 65536 registers, given to a warp in lots of 256; a block takes 1 KiB of shared memory besides
# its own from 8.0 on.
BEGIN {
    split("75 64 1024 80 164 2048 86 100 1536 87 164 1536 89 100 1536 90 228 2048 100 228 2048 103 228 2048 120 100 1536 121 100 1536", of)
    for (i = 1; i in of; i += 3) { shared_of[of[i]] = of[i + 1] * 1024; threads_of[of[i]] = of[i + 2] }
    while ((getline line < table) > 0)
        if (line !~ /^#/ && split(line, field) == 5) {
            if (field[1] != "*") stated[field[1]] = 0
            for (i = 2; i <= 5; i++) bound[field[1], i] = field[i]
        }
    if (!(("*", 2) in bound)) fail(table ": no line for *")
    format = "%-30s %-8s %9s %6s %7s %7s %7s %s\n"
    printf format, "kernel", "arch", "registers", "stack", "stores", "loads", "shared", "blocks a multiprocessor"
}
function fail(text) { print "FAILED: " text; failed = 1 }
function least(a, b) { return a < b ? a : b }
/ entry / {
    for (i = 1; $i != "entry"; i++);
    arch = $NF
    sub(/.* entry (void )?/, ""); sub(/\(.*/, ""); sub(/ sm_[0-9a-z]*$/, "")
    kernel = $0; stack = stores = loads = shared = 0; first = 1
}
/bytes stack frame/ { if (first) stack = $1; first = 0; stores += $5; loads += $9 }
/: Used [0-9]+ registers/ {
    registers = $0; sub(/.*Used /, "", registers); registers += 0
    if ($0 ~ /bytes smem/) { shared = $0; sub(/ bytes smem.*/, "", shared); sub(/.*, /, "", shared); shared += 0 }
    if ($0 ~ /cumulative stack/) { stack = $0; sub(/ bytes cumulative.*/, "", stack); sub(/.*, /, "", stack); stack += 0 }
    name = kernel in stated ? kernel : "*"
    if (kernel in stated) stated[kernel]++
    number = substr(arch, 4) + 0
    if (!(number in threads_of)) fail(arch ": its multiprocessors are not known here")
    warps = bound[name, 2] / 32
    blocks = int(65536 / (int((registers * 32 + 255) / 256) * 256 * warps))
    blocks = least(blocks, int(threads_of[number] / bound[name, 2]))
    if (shared) blocks = least(blocks, int(shared_of[number] / (shared + (number >= 80) * 1024)))
    results[++count] = sprintf(format, kernel, arch, registers, stack, stores, loads, shared, blocks)
    where = kernel ", " arch ": "
    if (blocks < bound[name, 3]) fail(where registers " registers and " shared " bytes of shared memory: " blocks " blocks of " bound[name, 2] " threads at once, " bound[name, 3] " are stated")
    if (stack > bound[name, 4]) fail(where "a stack of " stack " bytes, " bound[name, 4] " are stated")
    if (stores + loads > bound[name, 5]) fail(where "spills " stores " and " loads " bytes, " bound[name, 5] " are stated")
}
END {
    for (i = 1; i <= count; i++) printf "%s", results[i] | "sort"
    close("sort")
    for (name in stated) if (!stated[name]) fail(name ": stated, but there is no such kernel")
    if (!count) fail("ptxas said nothing of kernels")
    exit failed
}'
