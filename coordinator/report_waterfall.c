#include "coordinator/report.h"
#include "coordinator/report_svg.h"

#include "coordinator/cli.h"
#include "coordinator/core.h"
#include "coordinator/gaps_scene.h"
#include "cuda/device.h"

#include <inttypes.h>
#include <stdlib.h>

struct row {
    uint64_t begin_ns;
    size_t first, count; /* references of the partition */
};

static int compare_rows(const void *left_row, const void *right_row)
{
    const struct row *left = left_row, *right = right_row;
    if (left->begin_ns != right->begin_ns) {
        return left->begin_ns < right->begin_ns ? -1 : 1;
    }
    return left->first < right->first ? -1 : left->first > right->first;
}

static const struct trace_event *event_at(const struct gaps_scene *scene, size_t reference)
{
    return &scene->read->events[scene->references[reference].event];
}

/* Partitions that were begun, by when; returns how many. */
static size_t find_rows(struct row *rows, const struct gaps_scene *scene)
{
    size_t count = 0;
    for (size_t first = 0, end; first < scene->references_count; first = end) {
        uint64_t begin = UINT64_MAX;
        for (end = first; end < scene->references_count &&
                          scene->references[end].partition == scene->references[first].partition;
             end++) {
            const struct trace_event *event = event_at(scene, end);
            bool begins =
                event->kind == TRACE_STATE && event->detail > CORE_QUEUED && event->detail <= CORE_WRITING;
            begin = begins && event->time_ns < begin ? event->time_ns : begin;
        }
        if (begin != UINT64_MAX) {
            rows[count++] = (struct row){begin, first, end - first};
        }
    }
    qsort(rows, count, sizeof *rows, compare_rows);
    return count;
}

static const char *phase_class(enum core_state state)
{
    switch (state) {
    case CORE_GENERATING:
    case CORE_READING:
        return "witness";
    case CORE_SYNTHESIZING:
        return "synthesis";
    case CORE_READY:
        return "ready";
    case CORE_PROVING:
        return "lane";
    case CORE_FINALIZING:
        return "finalize";
    case CORE_WRITING:
        return "write";
    default:
        return NULL;
    }
}

struct canvas {
    FILE *out;
    uint64_t begin_ns, span_ns;
    double y, height;
};

static void bar(const struct canvas *canvas, const char *class, uint64_t begin_ns, uint64_t end_ns)
{
    uint64_t last = canvas->begin_ns + canvas->span_ns;
    begin_ns = begin_ns > canvas->begin_ns ? begin_ns : canvas->begin_ns;
    end_ns = end_ns < last ? end_ns : last;
    if (begin_ns >= end_ns) {
        return;
    }
    double x = report_svg_x(begin_ns - canvas->begin_ns, canvas->span_ns);
    double width = report_svg_x(end_ns - canvas->begin_ns, canvas->span_ns) - x;
    fprintf(canvas->out, "<rect class=\"k-phase-%s\" x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\"/>",
            class, x, canvas->y, width, canvas->height);
}

static void draw_row(const struct canvas *canvas, const struct gaps_scene *scene, const struct row *row)
{
    const struct trace_event *before = NULL;
    char at[CLI_TEXT_BYTES], length[CLI_TEXT_BYTES];
    uint64_t end = event_at(scene, row->first + row->count - 1)->time_ns;
    fprintf(canvas->out, "<g><title>partition %" PRIu32 ", begun at %s, took %s</title>",
            scene->references[row->first].partition,
            cli_text_duration(at, row->begin_ns > canvas->begin_ns ? row->begin_ns - canvas->begin_ns : 0),
            cli_text_duration(length, end - row->begin_ns));
    for (size_t i = row->first; i < row->first + row->count; i++) {
        const struct trace_event *event = event_at(scene, i);
        if (event->kind == TRACE_STATE) {
            const char *class = before != NULL ? phase_class(before->detail) : NULL;
            if (class != NULL) {
                bar(canvas, class, before->time_ns, event->time_ns);
            }
            before = event;
        }
    }
    for (size_t i = row->first; i < row->first + row->count; i++) {
        const struct trace_event *event = event_at(scene, i);
        if (event->kind == TRACE_STAGE) {
            bool copies = event->detail == DEVICE_STAGE_H2D || event->detail == DEVICE_STAGE_D2H;
            bar(canvas, copies ? "copy" : "compute", event->value, event->time_ns);
        }
    }
    fputs("</g>\n", canvas->out);
}

static void legend(FILE *out)
{
    static const struct {
        const char *class, *text;
    } phases[] = {{"witness", "witness"},   {"synthesis", "synthesis"}, {"ready", "ready, waits for a lane"},
                  {"lane", "on a lane"},    {"copy", "copy"},           {"compute", "computing"},
                  {"finalize", "finalize"}, {"write", "write"}};
    fputs("<p class=\"legend\">", out);
    for (size_t i = 0; i < sizeof phases / sizeof phases[0]; i++) {
        fprintf(out, "<span><i class=\"k-phase-%s\"></i>%s</span>", phases[i].class, phases[i].text);
    }
    fputs("</p>\n", out);
}

static void draw_rows(FILE *out, const struct explain *explain, const struct gaps_scene *scene,
                      const struct row *rows, size_t count)
{
    size_t shown = count < REPORT_ROWS_MAX ? count : REPORT_ROWS_MAX;
    double pitch = shown <= 40 ? 12 : 480.0 / (double)shown;
    unsigned height = (unsigned)(pitch * (double)shown + 0.5);
    struct canvas canvas = {
        .out = out,
        .begin_ns = explain->timeline.begin_ns,
        .span_ns = explain->timeline.end_ns - explain->timeline.begin_ns,
        .height = pitch * (pitch > 4 ? 0.75 : 1.2)}; /* thin ones overlap, or a pattern of stripes appears */
    if (shown < count) {
        fprintf(out,
                "<p class=\"dim\">%zu of %zu partitions, taken evenly in the order in which they were "
                "begun.</p>\n",
                shown, count);
    }
    legend(out);
    report_svg_begin(out, height, "Each partition's way through the pipeline");
    for (size_t i = 0; i < shown; i++) {
        canvas.y = REPORT_SVG_TOP + pitch * (double)i;
        /* The first, the last, and evenly between them. */
        draw_row(&canvas, scene, &rows[shown > 1 ? i * (count - 1) / (shown - 1) : 0]);
    }
    report_svg_time_axis(out, height, canvas.span_ns);
    report_svg_end(out);
}

bool report_waterfall(FILE *out, const struct explain *explain)
{
    struct gaps_scene scene;
    struct row *rows = NULL;
    bool done = gaps_scene_open(&scene, &explain->read) &&
                (rows = calloc(scene.references_count + 1, sizeof *rows)) != NULL;
    if (done) {
        size_t count = find_rows(rows, &scene);
        if (count > 0 && explain->timeline.begin_ns < explain->timeline.end_ns) {
            draw_rows(out, explain, &scene, rows, count);
        } else {
            fputs("<p class=\"dim\">No partition was begun.</p>\n", out);
        }
    }
    free(rows);
    gaps_scene_close(&scene);
    return done;
}
