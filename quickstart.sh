#!/bin/sh
# From a fresh Debian 12 to a batch of proofs: installs the packages, builds, proves a batch on the CPU and has every proof
# verified by snarkjs. Run it again as often as you like; what is done already is not done again.
set -eu
cd "$(dirname "$0")"
. .ci/packages.sh

packages build-essential cmake ninja-build pkg-config liburing-dev libconfuse-dev libjansson-dev libgoogle-perftools4
packages_node
step "Configure" cmake --preset release -DUZK_TESTS=OFF
step "Build" cmake --build --preset release
step "Get snarkjs to judge the proofs" snarkjs_install
uzk=build/release/uzk

if [ -e ../shared/circuits/semaphore-20/circuit.zkey ] && [ -e ../shared/circuits/sha256-512/circuit.zkey ]; then
    conf=conf/semaphore.conf
else
    conf=conf/small.conf
fi

printf '\n$ %s run %s\n' "$uzk" "$conf"
code=0
"$uzk" run "$conf" || code=$?
if [ $code -ne 0 ]; then
    printf '\nquickstart.sh: the batch ended with exit code %d\n' $code >&2
    exit $code
fi

# judge VKEY OUTPUT WITNESSES
judge() {
    vkey=$1
    output=$2
    witnesses=$3
    set --
    for proof in "$output"/*.proof.json; do
        stem=$(basename "$proof" .proof.json)
        set -- "$@" "$proof" "$output/$stem.public.json" "$witnesses/$stem.wtns"
    done
    node tests/e2e/verify_all.mjs "$vkey" "$@"
}
echo
if [ $conf = conf/semaphore.conf ]; then
    judge ../shared/circuits/semaphore-20/vkey.json out/semaphore ../shared/circuits/semaphore-20
    judge ../shared/circuits/sha256-512/vkey.json out/sha256 ../shared/circuits/sha256-512
else
    judge tests/data/circuit-small/vkey.json out/small tests/data/circuit-small
fi
cat <<EOF

The proofs are in out/. To prove them again: rm -r out. For a batch of your own, see "Your own circuit" in README.md.
EOF
