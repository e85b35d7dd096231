# A job past its deadline fails, named; what it had proven stays, and other jobs go on.
. "$(dirname "$0")/common.sh"
many_witnesses 10
cat >batch.conf <<CONF
circuit small {
  zkey = "$SMALL/circuit.zkey"
}
job late {
  circuit = small
  witnesses = "many/w-00[0-7].wtns"
  output = late
  priority = high
  deadline = 900ms
}
job calm {
  circuit = small
  witnesses = "many/w-00[89].wtns"
  output = calm
}
devices = { sim }
lanes_per_device = 1
device sim {
  msm = 400ms
}
CONF
expect 1 "$UZK" run batch.conf
said deadline
said late/w-007
not_said calm/
count 2 calm/*.simulated.json
found=$(find late -name '*.simulated.json' | wc -l)
[ "$found" -lt 8 ] || fail "all of the late job was done in time"
no_leftovers late
