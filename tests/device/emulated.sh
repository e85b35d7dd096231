# Whole proofs by the kernels, emulated on the CPU; snarkjs accepts them. $UZK is uzk_emulated.
. "$SOURCE/tests/e2e/common.sh"
need_snarkjs
many_witnesses 3
small_conf "many/*.wtns" out
printf '%s\n' "devices = { cuda:0 }" "threads = 2" >>batch.conf
expect 0 env UZK_STANDIN=delay_us=100 "$UZK" run --verbose batch.conf
said "3 of 3"
said "cuda:0"
not_said "out of service"
not_said "on the CPU"
not_said "retried"
judge_folder "$SMALL/vkey.json" out many 3
