/* expect_abort.h - for tests: does this call abort, as a failed CHECK does?
 *
 * The call runs in a child process, whose message is thrown away. Only from a process without other threads.
 */
#ifndef TESTS_UNIT_EXPECT_ABORT_H
#define TESTS_UNIT_EXPECT_ABORT_H

#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <unistd.h>

static inline bool expect_abort(void (*call)(void *argument), void *argument)
{
    pid_t child = fork();
    if (child < 0) {
        return false;
    }
    if (child == 0) {
        signal(SIGABRT, SIG_DFL); /* cmocka's handler would report a failed test */
        int null = open("/dev/null", O_WRONLY);
        dup2(null, STDERR_FILENO);
        call(argument);
        _exit(0);
    }
    int status = 0;
    return waitpid(child, &status, 0) == child && WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
}

#endif
