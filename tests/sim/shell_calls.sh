#!/bin/sh
# Every function from outside that the shell's objects need must be one that `sim_shell --fail-each` lets fail, or one of those
# below, which cannot fail for reasons outside the program. So a new call without a test is found here.
# Usage: shell_calls.sh NM SIM_SHELL OBJECT...
set -eu
nm=$1
sim=$2
shift 2
# Pure functions on memory, and what compilers add.
pure='^(str|mem|bcmp|explicit_bzero|sn?printf$|vsnprintf|__.*_chk$|__errno_location|__stack_chk_fail|_GLOBAL_OFFSET_TABLE_)'
pure="$pure|^(__asan_|__ubsan_|__tsan_|__sanitizer_|__gcov_|__llvm_|__sched_cpucount|__udiv|__cpu_|__tls_get_addr|abort\$)"
pure="$pure|^sig(emptyset|addset|fillset|descr_np)\$|^(environ|sysconf|getenv|exit|stderr|stdout)\$"
# They give back, end or ask for what is there; a failure would be a bug of ours, which they abort on or which changes nothing.
ending='^(free|munmap|close|closedir|fclose|_exit|clock_gettime|sched_yield|getrusage|pthread_join|pthread_sigmask|sigaction'
ending="$ending|timerfd_settime|kill|waitid|waitpid|fileno|io_uring_queue_exit)\$"
# The ring's own calls: refused, interrupted or busy at random in sim_shell's worlds (sim_ring.c).
ring='^(io_uring_(submit|submit_and_wait|submit_and_get_events|get_events)|__io_uring_get_cqe)$'
# Streams write through to the call that is failed as fflush; attributes of a child take memory only, and generator.c passes on
# what they return; the command line's own messages are tests/e2e/refused_output.sh's.
other='^(ferror|fputc|fputs|fwrite|fprintf|putc|posix_spawn(attr|_file_actions)_[a-z0-9]+|setenv|unsetenv)$'
# Ours, with something else in their place there (sim_prover.c).
replaced='^(device_c|team_|verify_key_init$|prove_assemble$|verify_proof$|par_serial$)'
calls=$("$sim" --calls)
own=$("$nm" "$sim" | awk 'NF == 3 && $2 ~ /[TDRBVWd]/ { print $3 }' | sort -u)
status=0
for symbol in $("$nm" "$@" | awk 'NF == 2 && $1 == "U" { print $2 }' | sort -u); do
    if echo "$own" | grep -qxF "$symbol" || echo "$symbol" | grep -qE "$pure|$ending|$ring|$other|$replaced"; then
        continue
    fi
    if ! echo "$calls" | grep -qxF "$symbol"; then
        echo "the shell calls $symbol, whose failure no test of sim_shell --fail-each has (sim_kernel.c: calls)" >&2
        status=1
    fi
done
exit $status
