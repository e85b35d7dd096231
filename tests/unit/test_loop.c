/* The ring: tokens come back, chains break as they should, the timer wakes, refusals are explained. */
#include "tests/unit/shell_fixture.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

static struct loop_token token(enum loop_kind kind, uint32_t slot, uint32_t generation)
{
    return (struct loop_token){kind, slot, generation};
}

static void files_are_written_and_read(void **state)
{
    struct shell_ring ring;
    (void)state;
    shell_ring_open(&ring);
    loop_openat(&ring.loop, token(LOOP_INPUT, 0xffffff, UINT32_MAX), AT_FDCWD, shell_path("file"),
                O_RDWR | O_CREAT, 0600);
    struct loop_completion opened = shell_ring_next(&ring);
    assert_int_equal(opened.token.kind, LOOP_INPUT);
    assert_int_equal(opened.token.slot, 0xffffff);
    assert_int_equal(opened.token.generation, UINT32_MAX);
    assert_true(opened.result >= 0);
    loop_reserve(&ring.loop, 2);
    loop_write(&ring.loop, token(LOOP_OUTPUT, 1, 7), opened.result, "hello", 5, 0, LOOP_LINK);
    loop_fsync(&ring.loop, token(LOOP_OUTPUT, 2, 7), opened.result, false);
    assert_int_equal(loop_in_flight(&ring.loop), 2);
    for (unsigned i = 1; i <= 2; ++i) {
        struct loop_completion completion = shell_ring_next(&ring);
        assert_int_equal(completion.token.slot, i); /* in the order of the chain */
        assert_int_equal(completion.result, i == 1 ? 5 : 0);
    }
    char bytes[8] = "";
    loop_read(&ring.loop, token(LOOP_INPUT, 3, 0), opened.result, bytes, 4, 1);
    assert_int_equal(shell_ring_next(&ring).result, 4);
    assert_string_equal(bytes, "ello");
    loop_rename(&ring.loop, token(LOOP_OUTPUT, 4, 0), AT_FDCWD, shell_path("file"), shell_path("moved"));
    assert_int_equal(shell_ring_next(&ring).result, 0);
    loop_unlink(&ring.loop, token(LOOP_DISCARD, 5, 0), AT_FDCWD, shell_path("moved"));
    loop_close_file(&ring.loop, token(LOOP_DISCARD, 6, 0), opened.result);
    assert_int_equal(shell_ring_next(&ring).result, 0);
    assert_int_equal(shell_ring_next(&ring).result, 0);
    assert_false(shell_exists("moved"));
    shell_ring_close(&ring);
}

static void a_failed_write_cancels_what_is_linked(void **state)
{
    struct shell_ring ring;
    (void)state;
    shell_ring_open(&ring);
    shell_put("linked", "", 0);
    int file = open(shell_path("linked"), O_RDONLY | O_CLOEXEC);
    loop_reserve(&ring.loop, 2);
    loop_write(&ring.loop, token(LOOP_OUTPUT, 1, 0), file, "x", 1, 0, LOOP_LINK);
    loop_fsync(&ring.loop, token(LOOP_OUTPUT, 2, 0), file, false);
    int results[3] = {0};
    for (unsigned i = 0; i < 2; ++i) {
        struct loop_completion completion = shell_ring_next(&ring);
        results[completion.token.slot] = completion.result;
    }
    assert_int_equal(results[1], -EBADF);
    assert_int_equal(results[2], -ECANCELED);
    close(file);
    unlink(shell_path("linked"));
    shell_ring_close(&ring);
}

/* The queue between two waits holds 16 operations: the rest goes to the kernel early. */
static void more_operations_than_the_queue_holds(void **state)
{
    enum { COUNT = 200 };
    struct shell_ring ring;
    struct statx statx[COUNT];
    bool seen[COUNT] = {false};
    (void)state;
    shell_ring_open(&ring);
    for (unsigned i = 0; i < COUNT; ++i) {
        loop_statx(&ring.loop, token(LOOP_INPUT, i, i), AT_FDCWD, shell_folder, 0, STATX_TYPE, &statx[i]);
    }
    assert_int_equal(loop_in_flight(&ring.loop), COUNT);
    for (unsigned i = 0; i < COUNT; ++i) {
        struct loop_completion completion = shell_ring_next(&ring);
        assert_int_equal(completion.result, 0);
        assert_int_equal(completion.token.generation, completion.token.slot);
        assert_false(seen[completion.token.slot]);
        seen[completion.token.slot] = true;
        assert_true(S_ISDIR(statx[completion.token.slot].stx_mode));
    }
    shell_ring_close(&ring);
}

static void wait_until(struct shell_ring *ring, uint64_t wake_ns)
{
    struct error error;
    struct loop_completion completion;
    while (loop_now_ns() < wake_ns) {
        assert_int_equal(loop_wait(&ring->loop, wake_ns, &error), ERROR_NONE);
        assert_false(loop_take(&ring->loop, &completion));
    }
}

static void the_timer_wakes(void **state)
{
    struct shell_ring ring;
    (void)state;
    shell_ring_open(&ring);
    uint64_t now_ns = loop_now_ns();
    wait_until(&ring, now_ns); /* already past: no wait at all */
    wait_until(&ring, loop_now_ns() + 2000000);
    int bell = eventfd(1, EFD_CLOEXEC);
    struct error error;
    loop_poll(&ring.loop, token(LOOP_DOORBELL, 0, 1), bell, false);
    assert_int_equal(loop_wait(&ring.loop, loop_now_ns() + UINT64_C(3600000000000), &error), ERROR_NONE);
    assert_int_equal(shell_ring_next(&ring).token.kind,
                     LOOP_DOORBELL);            /* the timer is armed for in an hour */
    wait_until(&ring, loop_now_ns() + 3000000); /* moved to an earlier time: else this takes an hour */
    wait_until(&ring, loop_now_ns() + 1000000);
    close(bell);
    shell_ring_close(&ring);
}

static void a_multishot_poll_rings_again(void **state)
{
    struct shell_ring ring;
    uint64_t count = 1;
    (void)state;
    shell_ring_open(&ring);
    int bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    loop_poll(&ring.loop, token(LOOP_DOORBELL, 9, 3), bell, true);
    for (unsigned i = 0; i < 3; ++i) {
        assert_int_equal(write(bell, &count, sizeof count), sizeof count);
        struct loop_completion completion = shell_ring_next(&ring);
        assert_true(completion.result > 0 && completion.more);
        assert_int_equal(read(bell, &count, sizeof count), sizeof count);
        assert_int_equal(loop_in_flight(&ring.loop), 1);
    }
    loop_cancel(&ring.loop, token(LOOP_DOORBELL, 9, 3));
    struct loop_completion last = shell_ring_next(&ring);
    assert_int_equal(last.result, -ECANCELED);
    assert_false(last.more);
    close(bell);
    shell_ring_close(&ring);
}

/* In a child: io_uring_setup fails with this number, as a container's filter or an old kernel makes it. */
static void setup_refused(int code, const char *expected)
{
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct sock_filter filter[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
                                       BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_io_uring_setup, 0, 1),
                                       BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)code),
                                       BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
        struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
        struct error error = {.text = ""};
        if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
            prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
            _exit(77);
        }
        bool right = loop_probe(&error) == ERROR_SYSTEM && strstr(error.text, expected) != NULL;
        _exit(right ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == 77) {
        skip(); /* no seccomp here */
    }
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void refusals_say_what_to_change(void **state)
{
    (void)state;
    setup_refused(EPERM, "seccomp");
    setup_refused(EPERM, "kernel.io_uring_disabled");
    setup_refused(ENOSYS, "Linux 6.1");
    setup_refused(ENOMEM, "ulimit -l");
    setup_refused(EINVAL, "too old");
    setup_refused(EMFILE, "Too many open files");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_are_written_and_read),
        cmocka_unit_test(a_failed_write_cancels_what_is_linked),
        cmocka_unit_test(more_operations_than_the_queue_holds),
        cmocka_unit_test(the_timer_wakes),
        cmocka_unit_test(a_multishot_poll_rings_again),
        cmocka_unit_test(refusals_say_what_to_change),
    };
    return cmocka_run_group_tests(tests, shell_setup, shell_teardown);
}
