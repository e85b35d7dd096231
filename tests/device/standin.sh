# A batch on CUDA devices, over the stand-in for the CUDA runtime: whatever fails in there, every proof is made, and
# snarkjs accepts it. $UZK is uzk_standin.
. "$SOURCE/tests/e2e/common.sh"
need_snarkjs
many_witnesses 12
conf() {
    small_conf "many/*.wtns" out
    printf '%s\n' "devices = { $1 }" "threads = 2" >>batch.conf
}
# run_and_judge FAULTS: the batch, proven in full.
run_and_judge() {
    rm -rf out
    expect 0 env UZK_STANDIN="$1" "$UZK" run batch.conf
    said "12 of 12"
    judge_folder "$SMALL/vkey.json" out many 12
    no_leftovers out
}

expect 0 env UZK_STANDIN=devices=2 "$UZK" devices
said "cuda:1 Stand-in 1 (no GPU)"

conf "cuda:0"
expect 0 env UZK_STANDIN=seed=1 "$UZK" check batch.conf
run_and_judge "delay_us=300"
said "cuda:0"
conf "cuda:0, cuda:1"
run_and_judge "devices=2,delay_us=300,seed=2"
said "cuda:1"
conf "auto"
run_and_judge "devices=2,seed=3"
said "cuda:1"

# A device that cannot be opened is left out, and named.
run_and_judge "devices=2,refused=1,seed=3"
said "cuda:0: opening the device: cudaErrorDevicesUnavailable"
said "the run goes on without it"
run_and_judge "devices=2,refused=3,seed=3"
said "cuda:1: opening the device: cudaErrorDevicesUnavailable"
conf "cuda:1"
expect 3 env UZK_STANDIN=devices=2,refused=2 "$UZK" run batch.conf
said "cuda:1: opening the device: cudaErrorDevicesUnavailable"

# Works that fail are tried again, on the other lane or the other device.
conf "cuda:0"
for fault in launch=5 call=40 call=75 lose=4 lose=9 double=3; do
    run_and_judge "$fault,delay_us=200,seed=4"
done
# A device that is lost leaves the rest to the other one, or to the CPU.
for sticky in 30 60 100; do
    conf "cuda:0"
    run_and_judge "sticky=$sticky,delay_us=100,seed=$sticky"
    said "of device cuda:0 is out of service"
    conf "cuda:0, cuda:1"
    run_and_judge "devices=2,sticky=$sticky,seed=$sticky"
done
# Many faults at once.
run_and_judge "devices=2,delay_us=200,launch_permille=20,call_permille=4,lose_permille=10,double_permille=200,seed=5"
# A circuit without room is proven on the CPU.
conf "cuda:0"
run_and_judge "memory=70000000"
said "circuit small is proven on the CPU"
run_and_judge "malloc=3"
said "circuit small is proven on the CPU"

# What is not there is named.
expect 2 env UZK_STANDIN=devices=0 "$UZK" run batch.conf
said "cuda:0: no usable GPU: cudaErrorNoDevice"
expect 2 env UZK_STANDIN=devices=0 "$UZK" check batch.conf
said "cuda:0: no usable GPU: cudaErrorNoDevice"
conf "cuda:3"
expect 2 env UZK_STANDIN=devices=2 "$UZK" run batch.conf
said "cuda:3: there is no such device; the last one is cuda:1"
