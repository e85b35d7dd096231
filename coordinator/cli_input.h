/* cli_input.h - a whole file in private memory.
 *
 * For inputs that are checked once and then trusted: the bytes can't change any more after they were read, as
 * those of a mapped file could. Pipes work, too. Pages are left out of core dumps, since witnesses are
 * secret. */
#ifndef COORDINATOR_CLI_INPUT_H
#define COORDINATOR_CLI_INPUT_H

#include "conf/error.h"

#include <stddef.h>
#include <stdint.h>

struct cli_input {
    uint8_t *bytes;
    size_t size;
    size_t capacity; /* of the mapping behind bytes */
};

/* ERROR_SYSTEM if path can't be opened or read or there is no memory for it; ERROR_INPUT if there is no such
 * file, for a folder, and for a file larger than size_max. */
enum error_code cli_input_open(struct cli_input *input, const char *path, size_t size_max,
                               struct error *error) ERROR_MUST_USE;

/* Says that path could not be opened to read, and why; the code is as cli_input_open returns it. */
enum error_code cli_input_refused(struct error *error, int errno_value, const char *path);

/* Gives the memory back, which wipes it. Harmless on a zeroed struct. */
void cli_input_close(struct cli_input *input);

#endif
