# Sourced by every case: a working folder that goes away at the end, and the words the cases are written in.
set -eu
: "${UZK:?the program to test}" "${SOURCE:?the source folder}"
DATA=$SOURCE/tests/data
SMALL=$DATA/circuit-small
CLOSED=$DATA/circuit-closed
WORK=$(mktemp -d "${TMPDIR:-/tmp}/uzk-e2e-XXXXXX")
leave() {
    # Only what this case started: whatever is still in the background. By way of a file, since a command substitution
    # has no jobs in some shells.
    jobs -p >"$WORK/jobs" 2>/dev/null || :
    while read -r pid; do kill -9 "$pid" 2>/dev/null || :; done <"$WORK/jobs"
    rm -rf "$WORK"
}
trap leave EXIT
trap 'exit 1' INT TERM HUP
cd "$WORK"

fail() {
    echo "FAILED: $*" >&2
    for file in stdout stderr; do
        [ ! -s "$WORK/$file" ] || { echo "--- $file:"; cat "$WORK/$file"; } >&2
    done
    exit 1
}
skip() { echo "skipped: $*"; exit 77; }

# expect CODE COMMAND...: runs it, output into stdout and stderr, and checks its exit code.
expect() {
    wanted=$1
    shift
    code=0
    "$@" >"$WORK/stdout" 2>"$WORK/stderr" || code=$?
    [ "$code" -eq "$wanted" ] || fail "exit code $code, expected $wanted: $*"
}

# said TEXT: the last command's stderr or stdout has this in it.
said() {
    cat "$WORK/stdout" "$WORK/stderr" | tr '\n' ' ' | tr -s ' ' | grep -qF -- "$1" || fail "nothing said \"$1\""
}
not_said() {
    ! cat "$WORK/stdout" "$WORK/stderr" | grep -qF -- "$1" || fail "said \"$1\""
}

is_file() { [ -f "$1" ] || fail "no file $1"; }
is_absent() { [ ! -e "$1" ] || fail "$1 should not exist"; }
# count N GLOB...: that many files.
count() {
    wanted=$1
    shift
    found=0
    for path in "$@"; do [ ! -e "$path" ] || found=$((found + 1)); done
    [ "$found" -eq "$wanted" ] || fail "$found files instead of $wanted: $*"
}

# No temporary file or folder of ours is left in an output folder.
no_leftovers() {
    left=$(find "$1" -name '.*' ! -name '.uzk.journal' ! -path "$1")
    [ -z "$left" ] || fail "left behind: $left"
    left=$(find "$1" -name '*.tmp')
    [ -z "$left" ] || fail "left behind: $left"
}

need_snarkjs() {
    command -v node >/dev/null || skip "node is not installed, so snarkjs can't judge"
    [ -d "$SOURCE/tests/node_modules/snarkjs" ] || skip "snarkjs is not installed (npm ci in tests/)"
}

# judge VKEY PROOF PUBLIC [WITNESS] ...: see verify_all.mjs.
judge() {
    node "$SOURCE/tests/e2e/verify_all.mjs" "$@" || fail "snarkjs does not accept the proofs"
}

# judge_folder VKEY FOLDER WITNESSES N: every proof there, N of them, each for its own witness.
judge_folder() {
    count "$4" "$2"/*.proof.json
    set -- "$1" "$2" "$3" "$4"
    triples=
    for proof in "$2"/*.proof.json; do
        stem=$(basename "$proof" .proof.json)
        triples="$triples $proof $2/$stem.public.json $3/$stem.wtns"
    done
    # Paths of the tests have no blanks in them.
    node "$SOURCE/tests/e2e/verify_all.mjs" "$1" $triples || fail "snarkjs does not accept the proofs"
}

# small_conf WITNESSES OUTPUT [LINE...]: batch.conf with one job; further lines go to its job section.
small_conf() {
    witnesses=$1
    output=$2
    shift 2
    {
        printf 'circuit small {\n zkey = "%s"\n}\n' "$SMALL/circuit.zkey"
        printf 'job spend {\n circuit = small\n witnesses = "%s"\n output = "%s"\n' "$witnesses" "$output"
        for line in "$@"; do printf ' %s\n' "$line"; done
        printf '}\n'
    } >batch.conf
}

# many_witnesses N: N witnesses in many/, the small circuit's over and over.
many_witnesses() {
    mkdir -p many
    number=0
    while [ "$number" -lt "$1" ]; do
        cp "$SMALL/witness-00$((number % 6)).wtns" "$(printf 'many/w-%03d.wtns' "$number")"
        number=$((number + 1))
    done
}

# Runs a command as an ordinary user, since root may write anywhere.
as_user() {
    if [ "$(id -u)" -ne 0 ]; then
        "$@"
    else
        setpriv --reuid=65534 --regid=65534 --clear-groups "$@"
    fi
}

# until_true COMMAND...: waits for that to hold.
until_true() {
    until "$@"; do sleep 0.05; done
}

# gone PID: it has ended (whoever should take its exit code may not have yet).
gone() {
    state=$(sed 's/.*) //; s/ .*//' "/proc/$1/stat" 2>/dev/null || echo gone)
    case $state in gone | Z | '') return 0 ;; *) return 1 ;; esac
}
