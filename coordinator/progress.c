#include "coordinator/progress.h"

#include "conf/check.h"
#include "coordinator/cli.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* One piece of the status line; those with the highest rank are left out first. */
enum { PIECES_MAX = 8, PIECE_BYTES = 96 };
struct piece {
    unsigned rank;
    char text[PIECE_BYTES];
};
struct pieces {
    unsigned count;
    struct piece all[PIECES_MAX];
};

__attribute__((format(printf, 3, 4))) static void pieces_add(struct pieces *pieces, unsigned rank,
                                                             const char *format, ...)
{
    CHECK(pieces->count < PIECES_MAX);
    struct piece *piece = &pieces->all[pieces->count++];
    piece->rank = rank;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(piece->text, sizeof piece->text, format, arguments);
    va_end(arguments);
}

/* "cpu 97%, cuda:0 80%"; a fallback device shows only once it has been used. */
static void text_devices(char text[PIECE_BYTES], const struct run_status *status,
                         const unsigned busy_percent[RUN_DEVICES_MAX])
{
    size_t length = 0;
    text[0] = '\0';
    CHECK(status->devices_count <= RUN_DEVICES_MAX);
    for (unsigned device = 0; device < status->devices_count; device++) {
        const struct run_device_status *one = &status->devices[device];
        if (one->fallback && one->busy_ns == 0) {
            continue;
        }
        int added = snprintf(text + length, PIECE_BYTES - length, "%s%s %u%%", length > 0 ? ", " : "",
                             one->name, busy_percent[device]);
        if (added < 0 || (size_t)added >= PIECE_BYTES - length) {
            text[length] = '\0';
            return;
        }
        length += (size_t)added;
    }
}

static uint32_t status_ended(const struct run_status *status)
{
    return status->done + status->failed + status->canceled;
}

static bool status_eta_known(const struct run_status *status)
{
    return status->eta_ns != UINT64_MAX && status_ended(status) < status->partitions;
}

static void pieces_compose(struct pieces *pieces, const struct run_status *status,
                           const unsigned busy_percent[RUN_DEVICES_MAX])
{
    char text[CLI_TEXT_BYTES], devices[PIECE_BYTES];
    pieces->count = 0;
    pieces_add(pieces, 0, "%u/%u done", status->done, status->partitions);
    if (status->failed > 0) {
        pieces_add(pieces, 1, "%u failed", status->failed);
    }
    if (status->canceled > 0) {
        pieces_add(pieces, 2, "%u canceled", status->canceled);
    }
    if (status->rate > 0) {
        pieces_add(pieces, 3, "%.*f/s", status->rate < 10 ? 2 : status->rate < 100 ? 1 : 0, status->rate);
    }
    if (status_eta_known(status)) {
        pieces_add(pieces, 4, "%s left", cli_text_duration(text, status->eta_ns));
    }
    text_devices(devices, status, busy_percent);
    if (devices[0] != '\0') {
        pieces_add(pieces, 5, "%s", devices);
    }
    if (status->started > 0) {
        pieces_add(pieces, 7, "%u in work", status->started);
    }
    pieces_add(pieces, 6, "mem %s", cli_text_bytes(text, status->memory_bytes));
}

static size_t pieces_width(const struct pieces *pieces)
{
    size_t width = 0;
    for (unsigned index = 0; index < pieces->count; index++) {
        width += strlen(pieces->all[index].text) + (index > 0 ? 2 : 0);
    }
    return width;
}

/* Drops pieces until the rest fits. */
static void pieces_fit(struct pieces *pieces, size_t width)
{
    while (pieces->count > 1 && pieces_width(pieces) > width) {
        unsigned last = 0;
        for (unsigned index = 1; index < pieces->count; index++) {
            if (pieces->all[index].rank > pieces->all[last].rank) {
                last = index;
            }
        }
        memmove(&pieces->all[last], &pieces->all[last + 1],
                (pieces->count - last - 1) * sizeof pieces->all[0]);
        pieces->count--;
    }
}

/* "[=====>    ] ", width columns in all. */
static size_t bar_render(char *text, size_t width, const struct run_status *status)
{
    CHECK(width >= 4);
    size_t inner = width - 3;
    size_t full = status->partitions > 0
                      ? (size_t)((uint64_t)status_ended(status) * inner / status->partitions)
                      : inner;
    text[0] = '[';
    for (size_t column = 0; column < inner; column++) {
        text[1 + column] = column < full ? '=' : column == full ? '>' : ' ';
    }
    text[1 + inner] = ']';
    text[2 + inner] = ' ';
    return width;
}

size_t progress_render_line(char text[PROGRESS_LINE_BYTES], const struct run_status *status,
                            const unsigned busy_percent[RUN_DEVICES_MAX], unsigned width)
{
    enum { BAR_MIN = 12, BAR_MAX = 33 };
    struct pieces pieces;
    if (width > PROGRESS_WIDTH_MAX) {
        width = PROGRESS_WIDTH_MAX;
    }
    pieces_compose(&pieces, status, busy_percent);
    pieces_fit(&pieces, width);
    size_t used = pieces_width(&pieces);
    size_t length = 0;
    if (used + BAR_MIN <= width) {
        size_t bar = width - used;
        length = bar_render(text, bar < BAR_MAX ? bar : BAR_MAX, status);
    }
    for (unsigned index = 0; index < pieces.count; index++) {
        int added = snprintf(text + length, PROGRESS_LINE_BYTES - length, "%s%s", index > 0 ? "  " : "",
                             pieces.all[index].text);
        CHECK(added > 0 && (size_t)added < PROGRESS_LINE_BYTES - length);
        length += (size_t)added;
    }
    if (length > width) { /* a single piece in a very narrow window */
        length = width;
    }
    text[length] = '\0';
    return length;
}

size_t progress_render_plain(char text[PROGRESS_LINE_BYTES], const struct run_status *status,
                             const unsigned busy_percent[RUN_DEVICES_MAX])
{
    char parts[5][PIECE_BYTES] = {"", "", "", "", ""};
    char number[CLI_TEXT_BYTES], devices[PIECE_BYTES];
    if (status->failed > 0) {
        snprintf(parts[0], PIECE_BYTES, ", %u failed", status->failed);
    }
    if (status->canceled > 0) {
        snprintf(parts[1], PIECE_BYTES, ", %u canceled", status->canceled);
    }
    if (status->rate > 0) {
        snprintf(parts[2], PIECE_BYTES, ", %.2f proofs/s", status->rate);
    }
    if (status_eta_known(status)) {
        snprintf(parts[3], PIECE_BYTES, ", %s left", cli_text_duration(number, status->eta_ns));
    }
    text_devices(devices, status, busy_percent);
    if (devices[0] != '\0') {
        snprintf(parts[4], PIECE_BYTES, ", busy: %.*s", PIECE_BYTES - 16, devices);
    }
    int length = snprintf(text, PROGRESS_LINE_BYTES, "%u of %u done%s%s%s%s%s, memory %s", status->done,
                          status->partitions, parts[0], parts[1], parts[2], parts[3], parts[4],
                          cli_text_bytes(number, status->memory_bytes));
    CHECK(length > 0 && length < PROGRESS_LINE_BYTES);
    return (size_t)length;
}

unsigned progress_terminal_width(int fd)
{
    struct winsize size;
    if (ioctl(fd, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) {
        return 80;
    }
    return size.ws_col;
}

static unsigned progress_width(const struct progress *progress)
{
    return progress->fixed_width != 0 ? progress->fixed_width : progress_terminal_width(progress->fd);
}

static void progress_write(const struct progress *progress, const char *text, size_t length)
{
    ssize_t written = write(progress->fd, text, length);
    (void)written; /* progress that nobody can see is no reason to stop a batch */
}

void progress_clear(struct progress *progress)
{
    if (progress->drawn == 0) {
        return;
    }
    unsigned width = progress_width(progress);
    unsigned rows =
        (progress->drawn + width - 1) / width; /* more than one if the window has become narrower */
    char text[32];
    int length = rows > 1 ? snprintf(text, sizeof text, "\r\033[%uA\033[J", rows - 1)
                          : snprintf(text, sizeof text, "\r\033[K");
    progress_write(progress, text, (size_t)length);
    progress->drawn = 0;
}

/* Keeps this tick's device times and works out how busy each device was since the oldest that is kept. */
static void progress_sample_take(struct progress *progress, const struct run_status *status)
{
    struct progress_sample *newest = &progress->window[progress->samples % PROGRESS_WINDOW];
    const struct progress_sample none = {.elapsed_ns = 0};
    const struct progress_sample *oldest = progress->samples < PROGRESS_WINDOW
                                               ? &none
                                               : &progress->window[(progress->samples + 1) % PROGRESS_WINDOW];
    newest->elapsed_ns = status->elapsed_ns;
    for (unsigned device = 0; device < status->devices_count; device++) {
        newest->busy_ns[device] = status->devices[device].busy_ns;
        uint64_t span = newest->elapsed_ns - oldest->elapsed_ns;
        uint64_t busy = newest->busy_ns[device] - oldest->busy_ns[device];
        uint64_t percent = span > 0 ? (busy * 100 + span / 2) / span : 0;
        progress->busy_percent[device] = percent < 100 ? (unsigned)percent : 100;
    }
    progress->samples++;
}

static void progress_draw(struct progress *progress, const struct run_status *status)
{
    char line[PROGRESS_LINE_BYTES];
    char text[PROGRESS_LINE_BYTES + 32];
    unsigned width = progress_width(progress);
    /* One column stays free: writing into the last one leaves some terminals on the next row. */
    size_t columns = progress_render_line(line, status, progress->busy_percent, width > 1 ? width - 1 : 1);
    const char *colour = !progress->colour ? "" : status->failed > 0 ? "\033[31m" : "\033[36m";
    progress_clear(progress);
    int length =
        snprintf(text, sizeof text, "\r%s%s%s\033[K", colour, line, progress->colour ? "\033[0m" : "");
    CHECK(length > 0 && (size_t)length < sizeof text);
    progress_write(progress, text, (size_t)length);
    progress->drawn = (unsigned)columns;
}

static void progress_tick(void *context, const struct run_status *status)
{
    struct progress *progress = context;
    if (progress->quiet) {
        return;
    }
    progress_sample_take(progress, status);
    if (progress->terminal) {
        progress_draw(progress, status);
        return;
    }
    /* The last tick may come at any time; the summary follows it. */
    if (status->elapsed_ns - progress->plain_ns < PROGRESS_PLAIN_NS - PROGRESS_PLAIN_NS / 10) {
        return;
    }
    progress->plain_ns = status->elapsed_ns;
    char line[PROGRESS_LINE_BYTES];
    progress_render_plain(line, status, progress->busy_percent);
    cli_message("%s", line);
}

static void progress_note(void *context, const char *text)
{
    struct progress *progress = context;
    if (!progress->quiet) {
        progress_clear(progress);
        cli_message("%s", text);
    }
}

static void progress_timing(void *context, const char *text)
{
    struct progress *progress = context;
    progress_clear(progress);
    cli_message("%s", text);
}

static void progress_partition_ended(void *context, const struct run_ended *ended)
{
    struct progress *progress = context;
    if (ended->state == CORE_FAILED) {
        progress_clear(progress);
        cli_message("job %s, %s failed: %s", ended->job, ended->stem, ended->reason);
    }
}

static void progress_job_ended(void *context, const struct run_job_ended *ended)
{
    struct progress *progress = context;
    if (ended->reason[0] != '\0') {
        progress_clear(progress);
        cli_message("job %s, bundle failed: %s", ended->job, ended->reason);
    } else if (ended->bundle != NULL && !progress->quiet) {
        progress_clear(progress);
        cli_message("job %s: %u proofs bundled in %s", ended->job, ended->done, ended->bundle);
    }
}

static void progress_loop_ended(void *context)
{
    progress_clear(context);
}

void progress_init(struct progress *progress, int fd, bool quiet)
{
    memset(progress, 0, sizeof *progress);
    const char *term = getenv("TERM"), *no_colour = getenv("NO_COLOR");
    progress->fd = fd;
    progress->quiet = quiet;
    progress->terminal = isatty(fd) == 1 && term != NULL && strcmp(term, "dumb") != 0;
    progress->colour = progress->terminal && (no_colour == NULL || no_colour[0] == '\0');
    progress->sink = (struct run_sink){
        .context = progress,
        .loop_ended = progress_loop_ended,
        .note = progress_note,
        .timing = progress_timing,
        .partition_ended = progress_partition_ended,
        .job_ended = progress_job_ended,
        .tick = progress_tick,
    };
}

const struct run_sink *progress_sink(const struct progress *progress)
{
    return &progress->sink;
}

uint64_t progress_tick_ns(const struct progress *progress)
{
    return progress->terminal ? PROGRESS_TICK_NS : PROGRESS_PLAIN_NS;
}
