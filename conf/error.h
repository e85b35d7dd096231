/* error.h - how an operation that can fail says so.
 *
 * A function that can fail for a reason outside the program returns `enum error_code` (must be used) and,
 * where it does fail, writes one sentence into the caller's `struct error`: the file, the byte offset or
 * line, what was expected and what was found, and what to do where that isn't plain. No prefix ("uzk: ") and
 * no newline: the printer adds both. The caller owns the struct; functions here touch nothing else, allocate
 * nothing and may be called from any thread on distinct structs. */
#ifndef CONF_ERROR_H
#define CONF_ERROR_H

#include <stdarg.h>

enum error_code {
    ERROR_NONE = 0,
    ERROR_INPUT,    /* a file, an argument or a setting is wrong: exit code 2 when it stops the program */
    ERROR_SYSTEM,   /* the system refused something (open, write, memory, io_uring): exit code 3 */
    ERROR_DEVICE,   /* a device failed while computing; the work may be tried elsewhere */
    ERROR_PROOF,    /* a finished proof did not pass its self-check */
    ERROR_CANCELED, /* stopped on request before it was done */
    ERROR_CODES
};

#define ERROR_MUST_USE   __attribute__((warn_unused_result))
#define ERROR_TEXT_BYTES 512

struct error {
    enum error_code code;
    char text[ERROR_TEXT_BYTES];
};

/* Writes code and text (cut at ERROR_TEXT_BYTES - 1 bytes, always terminated) and returns code, so that a
 * caller can `return error_set(error, ERROR_INPUT, "...")`. code must not be ERROR_NONE. */
enum error_code error_set(struct error *error, enum error_code code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* As error_set, with ": " and the text of errno_value behind the message. The code is ERROR_INPUT for a name that is no
 * file's (ENOENT, ENOTDIR), since that is the user's mistake and not a refusal, and ERROR_SYSTEM for the rest. */
enum error_code error_set_errno(struct error *error, int errno_value, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* A short lower-case name ("input", "system", ...) for tables and the journal. */
const char *error_code_name(enum error_code code);

#endif
