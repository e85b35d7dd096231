/* The status line at every width, plain lines, and what reaches a terminal. */
#include "coordinator/progress.h"

#include <errno.h>
#include <fcntl.h>
#include <pty.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cmocka.h>

static struct run_status status_middle(void)
{
    struct run_status status = {
        .elapsed_ns = 36000000000,
        .partitions = 400,
        .done = 123,
        .resumed = 20,
        .failed = 2,
        .started = 5,
        .rate = 3.41,
        .eta_ns = 81000000000,
        .memory_bytes = UINT64_C(1229) << 20,
        .memory_budget_bytes = UINT64_C(8) << 30,
        .devices_count = 2,
    };
    status.devices[0] = (struct run_device_status){.name = "cpu", .lanes = 3, .busy_ns = 35000000000};
    status.devices[1] = (struct run_device_status){.name = "retry", .lanes = 1, .fallback = true};
    return status;
}

static const unsigned busy[RUN_DEVICES_MAX] = {97, 0};

static void the_line_holds_all_when_it_is_wide(void **state)
{
    (void)state;
    struct run_status status = status_middle();
    char line[PROGRESS_LINE_BYTES];
    progress_render_line(line, &status, busy, 120);
    assert_string_equal(
        line, "[=========>                    ] 123/400 done  2 failed  3.41/s  81.0 s left  cpu 97%  "
              "5 in work  mem 1.20 GiB");
}

static void the_line_is_never_wider_than_asked(void **state)
{
    (void)state;
    struct run_status status = status_middle();
    for (unsigned width = 1; width <= 2 * PROGRESS_WIDTH_MAX; width++) {
        char line[PROGRESS_LINE_BYTES];
        size_t length = progress_render_line(line, &status, busy, width);
        assert_int_equal(length, strlen(line));
        assert_true(length <= width);
        if (width >= 12) {
            assert_non_null(strstr(line, "123/400 done"));
        }
    }
}

static void what_matters_least_goes_first(void **state)
{
    (void)state;
    struct run_status status = status_middle();
    char line[PROGRESS_LINE_BYTES];
    progress_render_line(line, &status, busy, 52);
    assert_null(strstr(line, "mem"));
    assert_non_null(strstr(line, "cpu 97%"));
    progress_render_line(line, &status, busy, 30);
    assert_string_equal(line, "123/400 done  2 failed  3.41/s");
    progress_render_line(line, &status, busy, 23);
    assert_string_equal(line, "123/400 done  2 failed");
}

static void nothing_known_yet(void **state)
{
    (void)state;
    struct run_status status = {.partitions = 7, .eta_ns = UINT64_MAX};
    char line[PROGRESS_LINE_BYTES];
    progress_render_line(line, &status, busy, 60);
    assert_string_equal(line, "[>                             ] 0/7 done  mem 0 B");
    status.partitions = 0; /* a batch whose every witness is resumed may tick before anything is known */
    progress_render_line(line, &status, busy, 60);
    assert_non_null(strstr(line, "0/0 done"));
}

static void extremes_fit(void **state)
{
    (void)state;
    struct run_status status = status_middle();
    status.partitions = status.done = status.failed = status.canceled = UINT32_MAX / 4;
    status.rate = 1e12;
    status.eta_ns = UINT64_MAX - 1;
    status.memory_bytes = UINT64_MAX;
    status.devices_count = RUN_DEVICES_MAX;
    for (unsigned device = 0; device < RUN_DEVICES_MAX; device++) {
        status.devices[device] = (struct run_device_status){.name = "a-device-with-a-very-long-name"};
    }
    char line[PROGRESS_LINE_BYTES];
    assert_true(progress_render_line(line, &status, busy, PROGRESS_WIDTH_MAX) <= PROGRESS_WIDTH_MAX);
    assert_true(progress_render_plain(line, &status, busy) < PROGRESS_LINE_BYTES);
}

static void the_plain_line_is_whole(void **state)
{
    (void)state;
    struct run_status status = status_middle();
    char line[PROGRESS_LINE_BYTES];
    progress_render_plain(line, &status, busy);
    assert_string_equal(
        line, "123 of 400 done, 2 failed, 3.41 proofs/s, 81.0 s left, busy: cpu 97%, memory 1.20 GiB");
}

/* What the sink's calls write to a terminal of so many columns (0: to a pipe). */
struct screen {
    int ours, theirs;
    char said[4096];
};

static void screen_open(struct screen *screen, unsigned short columns)
{
    if (columns == 0) {
        int ends[2];
        assert_int_equal(pipe(ends), 0);
        screen->ours = ends[0];
        screen->theirs = ends[1];
    } else {
        struct winsize size = {.ws_col = columns, .ws_row = 24};
        assert_int_equal(openpty(&screen->ours, &screen->theirs, NULL, NULL, &size), 0);
    }
    assert_int_equal(fcntl(screen->ours, F_SETFL, O_NONBLOCK), 0);
}

static const char *screen_said(struct screen *screen)
{
    ssize_t got = read(screen->ours, screen->said, sizeof screen->said - 1);
    assert_true(got >= 0 || errno == EAGAIN);
    screen->said[got > 0 ? got : 0] = '\0';
    return screen->said;
}

static void screen_close(struct screen *screen)
{
    close(screen->ours);
    close(screen->theirs);
}

static void a_terminal_gets_one_line_rewritten(void **state)
{
    (void)state;
    setenv("TERM", "xterm", 1);
    setenv("NO_COLOR", "1", 1);
    struct screen screen;
    screen_open(&screen, 60);
    struct progress progress;
    progress_init(&progress, screen.theirs, false);
    const struct run_sink *sink = progress_sink(&progress);
    struct run_status status = status_middle();
    sink->tick(sink->context, &status);
    const char *said = screen_said(&screen);
    assert_int_equal(said[0], '\r');
    assert_null(strchr(said, '\n'));
    assert_null(strstr(said, "\033[3")); /* no colour */
    assert_int_equal(progress.drawn, strlen(said) - strlen("\r\033[K"));
    assert_true(progress.drawn < 60);

    status.done++;
    sink->tick(sink->context, &status);
    said = screen_said(&screen);
    assert_int_equal(strncmp(said, "\r\033[K\r", 5), 0);
    assert_non_null(strstr(said, "124/400"));

    /* Narrower: what has been drawn now takes three rows; all of them are cleared. */
    unsigned drawn = progress.drawn;
    struct winsize size = {.ws_col = 20, .ws_row = 24};
    assert_int_equal(ioctl(screen.theirs, TIOCSWINSZ, &size), 0);
    sink->tick(sink->context, &status);
    said = screen_said(&screen);
    char expected[32];
    snprintf(expected, sizeof expected, "\r\033[%uA\033[J", (drawn + 19) / 20 - 1);
    assert_int_equal(strncmp(said, expected, strlen(expected)), 0);
    assert_true(progress.drawn < 20);

    sink->loop_ended(sink->context);
    assert_string_equal(screen_said(&screen), "\r\033[K");
    sink->loop_ended(sink->context);
    assert_string_equal(screen_said(&screen), "");
    screen_close(&screen);
}

static void colour_only_where_wanted(void **state)
{
    (void)state;
    struct screen screen;
    screen_open(&screen, 80);
    struct progress progress;
    unsetenv("NO_COLOR");
    setenv("TERM", "xterm", 1);
    progress_init(&progress, screen.theirs, false);
    assert_true(progress.terminal && progress.colour);
    setenv("NO_COLOR", "", 1);
    progress_init(&progress, screen.theirs, false);
    assert_true(progress.colour);
    setenv("NO_COLOR", "1", 1);
    progress_init(&progress, screen.theirs, false);
    assert_true(progress.terminal && !progress.colour);
    setenv("TERM", "dumb", 1);
    progress_init(&progress, screen.theirs, false);
    assert_false(progress.terminal);
    screen_close(&screen);
    screen_open(&screen, 0);
    setenv("TERM", "xterm", 1);
    progress_init(&progress, screen.theirs, false);
    assert_false(progress.terminal);
    assert_int_equal(progress_tick_ns(&progress), PROGRESS_PLAIN_NS);
    screen_close(&screen);
}

static void busy_is_of_the_last_moments(void **state)
{
    (void)state;
    struct screen screen;
    screen_open(&screen, 120);
    setenv("TERM", "xterm", 1);
    struct progress progress;
    progress_init(&progress, screen.theirs, false);
    const struct run_sink *sink = progress_sink(&progress);
    struct run_status status = status_middle();
    status.elapsed_ns = status.devices[0].busy_ns = 0;
    for (unsigned tick = 0; tick < 8; tick++) { /* wholly busy */
        status.elapsed_ns += 1000;
        status.devices[0].busy_ns += 1000;
        sink->tick(sink->context, &status);
        assert_int_equal(progress.busy_percent[0], 100);
    }
    for (unsigned tick = 0; tick < 2 * PROGRESS_WINDOW; tick++) { /* then a quarter of the time */
        status.elapsed_ns += 1000;
        status.devices[0].busy_ns += 250;
        sink->tick(sink->context, &status);
        screen_said(&screen);
    }
    assert_int_equal(progress.busy_percent[0], 25);
    screen_close(&screen);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_line_holds_all_when_it_is_wide),
        cmocka_unit_test(the_line_is_never_wider_than_asked),
        cmocka_unit_test(what_matters_least_goes_first),
        cmocka_unit_test(nothing_known_yet),
        cmocka_unit_test(extremes_fit),
        cmocka_unit_test(the_plain_line_is_whole),
        cmocka_unit_test(a_terminal_gets_one_line_rewritten),
        cmocka_unit_test(colour_only_where_wanted),
        cmocka_unit_test(busy_is_of_the_last_moments),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
