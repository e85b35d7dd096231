#include "coordinator/input.h"

#include "conf/check.h"

#include <errno.h>
#include <fcntl.h>

enum { READ_MAX = 64 << 20 };

static struct loop_token token(const struct input *input)
{
    return (struct loop_token){LOOP_INPUT, input->slot, input->sequence};
}

void input_start(struct input *input, struct loop *loop, uint32_t slot, const struct input_request *request)
{
    CHECK(input->step == INPUT_IDLE && request->expected <= request->capacity);
    input->request = *request;
    input->slot = slot;
    ++input->sequence;
    input->file = -1;
    input->size = input->got = 0;
    input->mtime_ns = 0;
    input->code = ERROR_NONE;
    input->step = INPUT_STATX;
    loop_statx(loop, token(input), request->folder, request->path, 0, STATX_TYPE | STATX_SIZE | STATX_MTIME,
               &input->statx);
}

/* Ends the operation, at once or after closing the file. */
static bool finish(struct input *input, struct loop *loop, enum error_code code)
{
    input->code = code;
    if (input->file >= 0) {
        input->step = INPUT_CLOSE;
        loop_close_file(loop, token(input), input->file);
        input->file = -1;
        return false;
    }
    input->step = INPUT_IDLE;
    return true;
}

static void read_more(struct input *input, struct loop *loop)
{
    size_t left = input->size - input->got;
    input->step = INPUT_READ;
    loop_read(loop, token(input), input->file, input->request.bytes + input->got,
              (unsigned)(left < READ_MAX ? left : READ_MAX), input->got);
}

static bool after_statx(struct input *input, struct loop *loop, struct error *error)
{
    const struct input_request *request = &input->request;
    const struct statx *statx = &input->statx;
    if (!S_ISREG(statx->stx_mode)) {
        return finish(input, loop, error_set(error, ERROR_INPUT, "%s: not a plain file", request->name));
    }
    if (statx->stx_size > request->capacity) {
        return finish(
            input, loop,
            error_set(error, ERROR_INPUT,
                      "%s: holds %llu bytes, a witness of this circuit has %zu; is it another circuit's?",
                      request->name, (unsigned long long)statx->stx_size, request->expected));
    }
    if (statx->stx_size == 0) {
        return finish(input, loop, error_set(error, ERROR_INPUT, "%s: the file is empty", request->name));
    }
    input->size = statx->stx_size;
    input->mtime_ns = (int64_t)statx->stx_mtime.tv_sec * 1000000000 + statx->stx_mtime.tv_nsec;
    input->step = INPUT_OPEN;
    loop_openat(loop, token(input), request->folder, request->path, O_RDONLY | O_CLOEXEC | O_NOCTTY, 0);
    return false;
}

static bool after_read(struct input *input, struct loop *loop, int result, struct error *error)
{
    if (result == 0) {
        return finish(input, loop,
                      error_set(error, ERROR_INPUT,
                                "%s: ended at byte %zu, it was %zu bytes long when it was opened",
                                input->request.name, input->got, input->size));
    }
    CHECK((size_t)result <= input->size - input->got);
    input->got += (size_t)result;
    if (input->got < input->size) {
        read_more(input, loop);
        return false;
    }
    return finish(input, loop, ERROR_NONE);
}

static const char *step_verb(enum input_step step)
{
    switch (step) {
    case INPUT_STATX:
    case INPUT_OPEN:
        return "opening";
    case INPUT_REMOVE:
        return "removing";
    default:
        return "reading";
    }
}

bool input_complete(struct input *input, struct loop *loop, const struct loop_completion *completion,
                    struct error *error)
{
    CHECK(completion->token.generation == input->sequence && input->step != INPUT_IDLE);
    int result = completion->result;
    if (input->step == INPUT_READ && (result == -EINTR || result == -EAGAIN)) {
        read_more(input, loop);
        return false;
    }
    if (input->step == INPUT_CLOSE) {
        input->step = INPUT_IDLE;
        return true;
    }
    if (result == -ENOENT && input->request.remove) {
        return finish(input, loop,
                      error_set(error, ERROR_INPUT,
                                "%s: the witness command ended well but did not make this file",
                                input->request.name));
    }
    if (result < 0 && input->step != INPUT_REMOVE) {
        return finish(input, loop,
                      error_set_errno(error, -result, "%s: %s", input->request.name, step_verb(input->step)));
    }
    switch (input->step) {
    case INPUT_STATX:
        return after_statx(input, loop, error);
    case INPUT_OPEN:
        input->file = result;
        if (input->request.remove) {
            input->step = INPUT_REMOVE;
            loop_unlink(loop, token(input), input->request.folder, input->request.path);
            return false;
        }
        read_more(input, loop);
        return false;
    case INPUT_REMOVE: /* if it could not be removed, the run does it with the whole folder */
        read_more(input, loop);
        return false;
    default:
        return after_read(input, loop, result, error);
    }
}
