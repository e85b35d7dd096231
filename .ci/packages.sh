# Sourced by quickstart.sh and test.sh from the root of the source. Words for long steps whose output matters only when they
# fail, and for Debian packages.

LOG=${LOG:-$PWD/build/$(basename "$0" .sh).log}
mkdir -p "$(dirname "$LOG")"
: >"$LOG"

# step NAME COMMAND...: runs it quietly; shows how long it took, or what it said when it fails.
step() {
    name=$1
    shift
    printf '%-58s' "$name"
    started=$(date +%s)
    printf '\n==== %s: %s\n' "$name" "$*" >>"$LOG"
    mark=$(wc -l <"$LOG")
    if "$@" >>"$LOG" 2>&1; then
        printf '%5d s\n' $(($(date +%s) - started))
        return 0
    fi
    printf ' failed\n\n' >&2
    tail -n +"$((mark + 1))" "$LOG" | tail -n 60 >&2
    printf '\n%s: "%s" failed; the whole output is in %s\n' "$(basename "$0")" "$name" "$LOG" >&2
    exit 1
}

as_root() {
    if [ "$(id -u)" -eq 0 ]; then
        "$@"
    else
        sudo "$@"
    fi
}

installed() { dpkg-query -W -f '${Status}\n' "$1" 2>/dev/null | grep -q '^install ok installed$'; }

apt_install() {
    as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -y -o DPkg::Lock::Timeout=300 update &&
        as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -y -o DPkg::Lock::Timeout=300 install --no-install-recommends "$@"
}

# packages NAME...: installs those that are missing. Does nothing, and needs no network, when none is.
packages() {
    if ! command -v apt-get >/dev/null || ! command -v dpkg-query >/dev/null; then
        cat >&2 <<EOF
This script knows Debian and what derives from it. Elsewhere install by hand:
  a C compiler (gcc 12 or clang 14 and later), cmake 3.25, ninja, pkg-config,
  liburing 2.3, libConfuse 3.3, jansson 2.13, cmocka 1.1 (for the tests), node 18 with npm
and build with:
  cmake --preset release && cmake --build --preset release
EOF
        exit 2
    fi
    missing=
    for package in "$@"; do
        installed "$package" || missing="$missing $package"
    done
    [ -n "$missing" ] || return 0
    if [ "$(id -u)" -ne 0 ] && ! command -v sudo >/dev/null; then
        echo "Please install as root:$missing" >&2
        exit 3
    fi
    # shellcheck disable=SC2086 # a list of words
    step "Install$(echo "$missing" | cut -c 1-48)" apt_install $missing
}

# Any node and npm will do, whether Debian's or not.
packages_node() {
    command -v node >/dev/null || packages nodejs
    command -v npm >/dev/null || packages npm
}

# snarkjs, which judges the proofs, into tests/node_modules.
snarkjs_install() {
    [ -d tests/node_modules/snarkjs ] && [ tests/node_modules/.package-lock.json -nt tests/package-lock.json ] ||
        (cd tests && npm ci --omit=dev --no-audit --no-fund)
}
