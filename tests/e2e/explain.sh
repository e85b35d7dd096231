# uzk explain names what a run really waited for: copies, a slow witness command, and trims on the coordinator's own thread.
. "$(dirname "$0")/common.sh"
command -v node >/dev/null || skip "node is not installed, so nobody can read the JSON"

# blames WORD SHARE: the first suspect of run.trace, with at least that share of the idle time; the parts add up.
blames() {
    expect 0 "$UZK" explain --json run.trace
    node -e '
        const told = JSON.parse(require("fs").readFileSync("stdout", "utf8"));
        const [word, share] = process.argv.slice(1);
        const sum = told.suspects.reduce((total, suspect) => total + suspect.ns, 0);
        if (sum !== told.idle_ns) throw `${sum} ns of ${told.idle_ns} are accounted for`;
        if (told.busy_ns + told.idle_ns !== told.span_ns * told.devices.length) throw "busy and idle are not the whole";
        const first = told.suspects[0];
        if (first.suspect !== word || first.share < Number(share)) throw `${first.suspect} has ${first.share}`;
    ' "$1" "$2" || fail "$1 is not blamed"
    expect 0 "$UZK" explain run.trace
}
sim_conf() { # H2D MSM
    printf 'devices = { sim }\nlanes_per_device = 1\ntrace = "run.trace"\n'
    printf 'device sim {\n h2d = %s\n evaluate = 1ms\n ntt = 1ms\n msm = %s\n d2h = 1ms\n spread = 0\n}\n' "$1" "$2"
}

small_conf "$SMALL/witness-*.wtns" copies
sim_conf 200ms 50ms >>batch.conf
expect 0 "$UZK" run batch.conf
blames copy 0.8
said "copies"
said "Worst gaps"

cat >batch.conf <<EOF
circuit small {
 zkey = "$SMALL/circuit.zkey"
}
job slow {
 circuit = small
 inputs = "$SMALL/witness-*.wtns"
 witness_command = { "sh", "-c", "sleep 0.4; cp \"\$1\" \"\$2\"", "sh", "{input}", "{witness}" }
 output = "commands"
}
EOF
sim_conf 1ms 10ms >>batch.conf
expect 0 "$UZK" run batch.conf
blames witness 0.8

small_conf "$SMALL/witness-*.wtns" idle
sim_conf 1ms 10ms >>batch.conf
printf 'trim {\n policy = inline\n}\n' >>batch.conf
expect 0 "$UZK" run batch.conf
said "trims 6 (policy inline"
expect 0 "$UZK" explain run.trace
said "trim policy inline"

printf 'no trace' >other
expect 2 "$UZK" explain other
said "other: "
expect 2 "$UZK" explain missing.trace
head -c 3000 run.trace >torn.trace
expect 0 "$UZK" explain torn.trace
said "did not end in order"
