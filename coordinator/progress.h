/* progress.h - what a batch shows while it runs.
 *
 * On a terminal one status line at the bottom is rewritten in place: how many proofs are done, the rate, the
 * time left, how busy each device was lately, memory. Elsewhere (a log, a pipe) a plain line is written every
 * PROGRESS_PLAIN_NS. In both, each failed partition gets a line of its own as it fails.
 *
 * A struct progress belongs to the thread that runs the batch: it is a run_sink (progress_sink) and keeps
 * that contract: no allocation, one write a line. All of it goes to the file descriptor given, by convention
 * stderr. The terminal's width is asked for at every tick, so that a resize needs no signal; what a narrower
 * window has wrapped is cleared with the line. Colour is left out if NO_COLOR is set (no-color.org) or TERM
 * is "dumb". */
#ifndef COORDINATOR_PROGRESS_H
#define COORDINATOR_PROGRESS_H

#include "coordinator/run.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PROGRESS_LINE_BYTES = 512, PROGRESS_WIDTH_MAX = 160, PROGRESS_WINDOW = 16 };

#define PROGRESS_TICK_NS  ((uint64_t)250 * 1000 * 1000)
#define PROGRESS_PLAIN_NS ((uint64_t)10 * 1000 * 1000 * 1000)

/* Device time at one of the last ticks: "busy" is over the window from the oldest kept to the newest. */
struct progress_sample {
    uint64_t elapsed_ns;
    uint64_t busy_ns[RUN_DEVICES_MAX];
};

struct progress {
    int fd;
    bool terminal; /* rewrite one line; otherwise plain lines */
    bool colour;
    bool quiet;           /* failures only */
    unsigned fixed_width; /* 0: ask the terminal */
    unsigned drawn;       /* columns of the status line that is on the screen; 0: none */
    uint64_t plain_ns;    /* elapsed time at the last plain line */
    unsigned samples;     /* ever taken */
    struct progress_sample window[PROGRESS_WINDOW];
    unsigned busy_percent[RUN_DEVICES_MAX];
    struct run_sink sink;
};

void progress_init(struct progress *progress, int fd, bool quiet);

/* For run_options; valid as long as progress is. */
const struct run_sink *progress_sink(const struct progress *progress);

/* How often the run should call tick: PROGRESS_TICK_NS on a terminal, PROGRESS_PLAIN_NS elsewhere. */
uint64_t progress_tick_ns(const struct progress *progress);

/* Removes the status line, so that other text can follow. */
void progress_clear(struct progress *progress);

/* The status line for so many columns (at most PROGRESS_WIDTH_MAX are used): terminated, without colour or
 * control characters, never wider. What matters least is left out first. Returns its length. */
size_t progress_render_line(char text[PROGRESS_LINE_BYTES], const struct run_status *status,
                            const unsigned busy_percent[RUN_DEVICES_MAX], unsigned width);

/* The plain line, whole, without prefix or newline. Returns its length. */
size_t progress_render_plain(char text[PROGRESS_LINE_BYTES], const struct run_status *status,
                             const unsigned busy_percent[RUN_DEVICES_MAX]);

/* Columns of the terminal behind fd, or 80 if it doesn't tell. */
unsigned progress_terminal_width(int fd);

#endif
