#include "coordinator/pressure.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

static const char trigger[] = "some 100000 2000000"; /* microseconds; the kernel wants the final 0, too */

static enum error_code pressure_refused(struct error *error, const char *path, int code)
{
    static const char instead[] = "or choose another policy in trim { }";
    switch (code) {
    case ENOENT:
        return error_set(error, ERROR_SYSTEM,
                         "%s: does not exist, so trim policy \"pressure\" has nothing to go by: it needs a "
                         "kernel with pressure stall information (CONFIG_PSI; psi=1 on its command line "
                         "where it is off by default), %s",
                         path, instead);
    case EOPNOTSUPP:
        return error_set(error, ERROR_SYSTEM,
                         "%s: pressure stall information is built into this kernel and switched off, so "
                         "trim policy \"pressure\" has nothing to go by: boot with psi=1, %s",
                         path, instead);
    case EACCES:
    case EPERM:
    case EROFS:
        return error_set(error, ERROR_SYSTEM,
                         "%s: this process may not set a trigger there (%s), so trim policy \"pressure\" "
                         "has nothing to go by: let it write to that file, which container engines mount "
                         "read-only, %s",
                         path, strerror(code), instead);
    case EINVAL:
        return error_set(error, ERROR_SYSTEM,
                         "%s: the system does not take the trigger \"%s\", so trim policy \"pressure\" has "
                         "nothing to go by: Linux 5.2 or newer is needed, %s",
                         path, trigger, instead);
    default:
        return error_set(error, ERROR_SYSTEM,
                         "%s: setting a trigger for trim policy \"pressure\": %s; repair that, %s", path,
                         strerror(code), instead);
    }
}

enum error_code pressure_open(int *file, const char *path, struct error *error)
{
    *file = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
    if (*file < 0) {
        return pressure_refused(error, path, errno);
    }
    ssize_t written = write(*file, trigger, sizeof trigger);
    if (written == (ssize_t)sizeof trigger) {
        return ERROR_NONE;
    }
    int code = written < 0 ? errno : EINVAL;
    close(*file);
    *file = -1;
    return pressure_refused(error, path, code);
}
