#include "conf/error.h"

#include "conf/check.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum error_code error_set(struct error *error, enum error_code code, const char *format, ...)
{
    CHECK(code > ERROR_NONE && code < ERROR_CODES);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(error->text, sizeof error->text, format, arguments);
    va_end(arguments);
    error->code = code;
    return code;
}

enum error_code error_set_errno(struct error *error, int errno_value, const char *format, ...)
{
    CHECK(errno_value > 0);
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(error->text, sizeof error->text, format, arguments);
    va_end(arguments);
    if (length >= 0 && (size_t)length < sizeof error->text) {
        char reason[128];
        snprintf(error->text + length, sizeof error->text - (size_t)length, ": %s%s",
                 strerror_r(errno_value, reason, sizeof reason),
                 errno_value == EFBIG ? "; raise the limit on the size of files (ulimit -f)" : "");
    }
    error->code = errno_value == ENOENT || errno_value == ENOTDIR ? ERROR_INPUT : ERROR_SYSTEM;
    return error->code;
}

const char *error_code_name(enum error_code code)
{
    static const char *const names[ERROR_CODES] = {"none", "input", "system", "device", "proof", "canceled"};
    CHECK(code < ERROR_CODES);
    return names[code];
}
