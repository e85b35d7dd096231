/* Triggers of memory pressure: each refusal has a message of its own. */
#include "tests/unit/shell_fixture.h"

#include "coordinator/pressure.h"

#include <poll.h>
#include <sys/wait.h>

static struct error error;

static void what_is_not_there_is_named(void **state)
{
    (void)state;
    int file;
    assert_int_equal(pressure_open(&file, shell_path("pressure/memory"), &error), ERROR_SYSTEM);
    assert_non_null(strstr(error.text, "pressure/memory: does not exist"));
    assert_non_null(strstr(error.text, "CONFIG_PSI"));
    assert_non_null(strstr(error.text, "another policy"));
    assert_int_equal(file, -1);
}

static void what_does_not_take_a_trigger_is_refused(void **state)
{
    (void)state;
    int file;
    /* An interface file of another kind: it can be written to, but not this. */
    assert_int_equal(pressure_open(&file, "/proc/self/oom_score_adj", &error), ERROR_SYSTEM);
    assert_non_null(strstr(error.text, "/proc/self/oom_score_adj: the system does not take the trigger"));
    assert_int_equal(pressure_open(&file, "/dev/full", &error), ERROR_SYSTEM);
    assert_non_null(strstr(error.text, "/dev/full: setting a trigger"));
    assert_int_equal(file, -1);
}

/* Root may write anywhere, so a child that gives it up tries. */
static void what_is_forbidden_is_named(void **state)
{
    (void)state;
    shell_put("memory", "", 0);
    assert_int_equal(chmod(shell_path("memory"), 0444), 0);
    assert_int_equal(chmod(shell_folder, 0755), 0);
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        int file;
        if (geteuid() == 0 && setuid(65534) != 0) {
            _exit(77);
        }
        bool refused = pressure_open(&file, shell_path("memory"), &error) == ERROR_SYSTEM;
        _exit(refused && strstr(error.text, "may not set a trigger there (Permission denied)") != NULL ? 0
                                                                                                       : 1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == 77) {
        skip();
    }
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void the_systems_own_can_be_polled(void **state)
{
    (void)state;
    int file;
    if (pressure_open(&file, PRESSURE_PATH, &error) != ERROR_NONE) {
        print_message("skipped: %s\n", error.text);
        skip();
    }
    struct pollfd polled = {.fd = file, .events = POLLPRI};
    assert_true(poll(&polled, 1, 0) >= 0);
    assert_false(polled.revents & (POLLERR | POLLNVAL | POLLHUP));
    close(file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_not_there_is_named),
        cmocka_unit_test(what_does_not_take_a_trigger_is_refused),
        cmocka_unit_test(what_is_forbidden_is_named),
        cmocka_unit_test(the_systems_own_can_be_polled),
    };
    return cmocka_run_group_tests(tests, shell_setup, shell_teardown);
}
