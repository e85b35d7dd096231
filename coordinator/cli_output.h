/* cli_output.h - a command's output files, either all or none.
 *
 * cli_output_write writes every file under a temporary name beside its target, syncs it, and only then
 * renames them over their targets and syncs the folders, so that a reader never sees half a file and a
 * failure before the renames leaves every target as it was. Should a later rename fail (a target became a
 * folder meanwhile), files that were already put in place are removed again. A target that is a symbolic link
 * is followed; one that is a device or a pipe (/dev/stdout) is written directly. Main thread; blocks. */
#ifndef COORDINATOR_CLI_OUTPUT_H
#define COORDINATOR_CLI_OUTPUT_H

#include "conf/error.h"

#include <stddef.h>

struct cli_output_file {
    const char *path;
    const char *text;
    size_t length;
};

enum { CLI_OUTPUT_FILES_MAX = 4 };

/* Finds out before long work, without changing anything, whether cli_output_write could hardly succeed: a
 * target that is a folder, two that are the same file, a folder that is missing or not writable. Texts aren't
 * looked at. */
enum error_code cli_output_check(const struct cli_output_file *files, size_t count,
                                 struct error *error) ERROR_MUST_USE;

/* ERROR_INPUT: a target is a folder or names the same file as another; ERROR_SYSTEM: the system refused. */
enum error_code cli_output_write(const struct cli_output_file *files, size_t count,
                                 struct error *error) ERROR_MUST_USE;

#endif
