#include "coordinator/cli_input.h"

#include "conf/check.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FIRST_BYTES = 1 << 16 };

static enum error_code input_grow(struct cli_input *input, size_t capacity, const char *path,
                                  struct error *error)
{
    CHECK(capacity > input->capacity);
    void *bytes = input->bytes == NULL
                      ? mmap(NULL, capacity, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
                      : mremap(input->bytes, input->capacity, capacity, MREMAP_MAYMOVE);
    if (bytes == MAP_FAILED) {
        return error_set_errno(error, errno, "%s: no memory for its %zu bytes", path, capacity);
    }
    (void)madvise(bytes, capacity, MADV_DONTDUMP);
    input->bytes = bytes;
    input->capacity = capacity;
    return ERROR_NONE;
}

static enum error_code input_read(struct cli_input *input, int fd, const char *path, size_t size_max,
                                  struct error *error)
{
    struct stat info;
    if (fstat(fd, &info) != 0) {
        return error_set_errno(error, errno, "%s: cannot read", path);
    }
    if (S_ISDIR(info.st_mode)) {
        return error_set(error, ERROR_INPUT, "%s: is a folder, not a file", path);
    }
    /* One byte more than the file has, so that the read that finds its end needs no room of its own. */
    size_t first =
        S_ISREG(info.st_mode) && (uint64_t)info.st_size < size_max ? (size_t)info.st_size + 1 : FIRST_BYTES;
    if (input_grow(input, first, path, error) != ERROR_NONE) {
        return error->code;
    }
    for (;;) {
        ssize_t got = read(fd, input->bytes + input->size, input->capacity - input->size);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0) {
            return error_set_errno(error, errno, "%s: cannot read at offset %zu", path, input->size);
        }
        if (got == 0) {
            return ERROR_NONE;
        }
        input->size += (size_t)got;
        if (input->size > size_max) {
            return error_set(error, ERROR_INPUT,
                             "%s: is larger than %zu bytes, the most that makes sense here", path, size_max);
        }
        if (input->size == input->capacity &&
            input_grow(input, 2 * input->capacity, path, error) != ERROR_NONE) {
            return error->code;
        }
    }
}

enum error_code cli_input_refused(struct error *error, int errno_value, const char *path)
{
    return error_set_errno(error, errno_value, "%s: cannot open", path);
}

enum error_code cli_input_open(struct cli_input *input, const char *path, size_t size_max,
                               struct error *error)
{
    *input = (struct cli_input){.bytes = NULL};
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0) {
        return cli_input_refused(error, errno, path);
    }
    enum error_code code = input_read(input, fd, path, size_max, error);
    close(fd);
    if (code != ERROR_NONE) {
        cli_input_close(input);
    }
    return code;
}

void cli_input_close(struct cli_input *input)
{
    if (input->bytes != NULL) {
        munmap(input->bytes, input->capacity);
    }
    *input = (struct cli_input){.bytes = NULL};
}
