#include "coordinator/report.h"
#include "coordinator/report_svg.h"

#include "coordinator/cli.h"

#include <stdlib.h>

/* What a device did in each column: one count of nanoseconds for being busy, one for each suspect. */
enum { BUSY = GAPS_SUSPECTS, PARTS };

struct column {
    uint64_t ns[PARTS];
};

/* Columns are whole buckets, so that the picture shows what the timeline says. */
static uint64_t column_width(const struct timeline *timeline)
{
    size_t buckets = (timeline->buckets_count + REPORT_COLUMNS - 1) / REPORT_COLUMNS;
    uint64_t least = (timeline->end_ns - timeline->begin_ns) / REPORT_COLUMNS + 1;
    uint64_t width = timeline->bucket_ns * (buckets > 0 ? buckets : 1);
    return width > least ? width : least;
}

static void spread(struct column *columns, uint64_t width, unsigned part, uint64_t begin, uint64_t end)
{
    while (begin < end) {
        uint64_t until = (begin / width + 1) * width;
        until = until < end ? until : end;
        columns[begin / width].ns[part] += until - begin;
        begin = until;
    }
}

static void fill(struct column *columns, uint64_t width, const struct explain *explain, unsigned device)
{
    const struct timeline *timeline = &explain->timeline;
    for (size_t i = 0; i < timeline->devices[device].count; i++) {
        const struct timeline_busy *busy = &timeline->devices[device].busy[i];
        spread(columns, width, BUSY, busy->begin_ns - timeline->begin_ns, busy->end_ns - timeline->begin_ns);
    }
    for (size_t i = 0; i < explain->gaps.count; i++) {
        const struct gaps_gap *gap = &explain->gaps.gaps[i];
        for (size_t k = gap->first; k < gap->first + gap->pieces && gap->device == device; k++) {
            const struct gaps_piece *piece = &explain->gaps.pieces[k];
            spread(columns, width, gaps_suspect_of((enum gaps_reason)piece->reason),
                   piece->begin_ns - timeline->begin_ns, piece->end_ns - timeline->begin_ns);
        }
    }
}

static void tooltip(FILE *out, const struct column *column, uint64_t at, uint64_t width)
{
    char text[CLI_TEXT_BYTES];
    fprintf(out, "<title>at %s: busy %.1f%%", cli_text_duration(text, at),
            100 * (double)column->ns[BUSY] / (double)width);
    for (int suspect = 0; suspect < GAPS_SUSPECTS; suspect++) {
        if (column->ns[suspect] > 0) {
            fprintf(out, "&#10;%s %.1f%%", gaps_suspect_text((enum gaps_suspect)suspect),
                    100 * (double)column->ns[suspect] / (double)width);
        }
    }
    fputs("</title>", out);
}

static void draw(FILE *out, const struct column *column, const struct explain *explain, uint64_t at,
                 uint64_t width, unsigned height)
{
    uint64_t span = explain->timeline.end_ns - explain->timeline.begin_ns;
    uint64_t end = at + width < span ? at + width : span;
    double x = report_svg_x(at, span), y = REPORT_SVG_TOP + height, w = report_svg_x(end, span) - x;
    fputs("<g>", out);
    tooltip(out, column, at, end - at);
    for (int part = PARTS - 1; part >= 0; part--) { /* busy at the bottom */
        if (column->ns[part] == 0) {
            continue;
        }
        double h = (double)column->ns[part] / (double)(end - at) * height;
        y -= h;
        fprintf(out, "<rect class=\"k-%s\" x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\"/>",
                part == BUSY ? "busy" : gaps_suspect_word((enum gaps_suspect)part), x, y, w, h);
    }
    fputs("</g>\n", out);
}

bool report_timeline(FILE *out, const struct explain *explain, unsigned device)
{
    enum { HEIGHT = 120 };
    uint64_t span = explain->timeline.end_ns - explain->timeline.begin_ns,
             width = column_width(&explain->timeline);
    struct column *columns = calloc(REPORT_COLUMNS + 1, sizeof *columns);
    if (columns == NULL) {
        return false;
    }
    fill(columns, width, explain, device);
    report_svg_begin(out, HEIGHT, "Utilization over time, and what the idle time was lost to");
    for (uint64_t at = 0; at < span; at += width) {
        draw(out, &columns[at / width], explain, at, width, HEIGHT);
    }
    report_svg_percent_axis(out, HEIGHT);
    report_svg_time_axis(out, HEIGHT, span);
    report_svg_end(out);
    free(columns);
    return true;
}
