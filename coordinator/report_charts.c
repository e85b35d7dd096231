#include "coordinator/report.h"
#include "coordinator/report_svg.h"

#include "coordinator/cli.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

/* ---- latencies ---- */

enum { BINS = 48, LATENCY_HEIGHT = 150 };

/* Bins of equal width, or of equal ratio where the longest latency is many times the shortest. */
struct scale {
    double low, high;
    bool logarithmic;
};

static double scale_share(const struct scale *scale, uint64_t ns)
{
    double value = scale->logarithmic ? log((double)ns + 1) : (double)ns;
    double share = (value - scale->low) / (scale->high - scale->low);
    return share < 0 ? 0 : share > 1 ? 1 : share;
}

static uint64_t scale_ns(const struct scale *scale, double share)
{
    double value = scale->low + share * (scale->high - scale->low);
    return (uint64_t)((scale->logarithmic ? exp(value) - 1 : value) + 0.5);
}

static struct scale scale_of(const struct explain_durations *list)
{
    uint64_t least = list->sorted[0], most = list->sorted[list->count - 1];
    struct scale scale = {.low = (double)least, .high = (double)most, .logarithmic = most / 20 > least};
    if (scale.logarithmic) {
        scale.low = log((double)least + 1);
        scale.high = log((double)most + 1);
    }
    if (scale.high - scale.low < 1e-9 * scale.high + 1e-9) { /* all the same */
        scale.low = scale.low > 1 ? scale.low - 1 : 0;
        scale.high = scale.low + 2;
    }
    return scale;
}

static void draw_mark(FILE *out, const struct scale *scale, uint64_t ns, const char *name, int y)
{
    char text[CLI_TEXT_BYTES];
    double x = REPORT_SVG_LEFT + scale_share(scale, ns) * REPORT_SVG_PLOT;
    bool right = x > REPORT_SVG_LEFT + 0.8 * REPORT_SVG_PLOT;
    fprintf(out,
            "<path class=\"mark\" d=\"M%.1f %dv%d\"/><text class=\"%s strong\" x=\"%.1f\" y=\"%d\">%s "
            "%s</text>\n",
            x, REPORT_SVG_TOP, LATENCY_HEIGHT, right ? "end" : "start", x + (right ? -5 : 5), y, name,
            cli_text_duration(text, ns));
}

bool report_latency(FILE *out, const struct explain *explain)
{
    const struct explain_durations *list = &explain->latencies;
    uint64_t bins[BINS] = {0}, most = 0;
    if (list->count == 0) {
        fputs("<p class=\"dim\">No partition was done.</p>\n", out);
        return true;
    }
    struct scale scale = scale_of(list);
    for (size_t i = 0; i < list->count; i++) {
        unsigned bin = (unsigned)(scale_share(&scale, list->sorted[i]) * BINS);
        bin = bin < BINS ? bin : BINS - 1;
        bins[bin]++;
        most = bins[bin] > most ? bins[bin] : most;
    }
    report_svg_begin(out, LATENCY_HEIGHT, "How many partitions took how long");
    uint64_t top = report_svg_count_axis(out, LATENCY_HEIGHT, most);
    for (unsigned i = 0; i < BINS; i++) {
        char low[CLI_TEXT_BYTES], high[CLI_TEXT_BYTES];
        double width = (double)REPORT_SVG_PLOT / BINS,
               height = (double)bins[i] / (double)top * LATENCY_HEIGHT;
        fprintf(out,
                "<rect class=\"k-busy\" x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\"><title>%" PRIu64
                " from %s to %s</title></rect>\n",
                REPORT_SVG_LEFT + i * width + 0.5, REPORT_SVG_TOP + LATENCY_HEIGHT - height, width - 1,
                height, bins[i], cli_text_duration(low, scale_ns(&scale, (double)i / BINS)),
                cli_text_duration(high, scale_ns(&scale, (double)(i + 1) / BINS)));
    }
    for (unsigned i = 0; i <= 6; i++) {
        char text[CLI_TEXT_BYTES];
        double x = REPORT_SVG_LEFT + i / 6.0 * REPORT_SVG_PLOT;
        fprintf(out,
                "<path class=\"tick\" d=\"M%.1f %dv5\"/><text class=\"%s\" x=\"%.1f\" y=\"%d\">%s</text>\n",
                x, REPORT_SVG_TOP + LATENCY_HEIGHT, i == 6 ? "end" : "mid", i == 6 ? x + 12 : x,
                REPORT_SVG_TOP + LATENCY_HEIGHT + 18, cli_text_duration(text, scale_ns(&scale, i / 6.0)));
    }
    draw_mark(out, &scale, explain_quantile(list, 500), "p50", REPORT_SVG_TOP + 14);
    draw_mark(out, &scale, explain_quantile(list, 990), "p99", REPORT_SVG_TOP + 30);
    report_svg_end(out);
    return true;
}

/* ---- memory and trims ---- */

enum { MEMORY_HEIGHT = 150, POINTS = 500 };

struct point {
    uint64_t resident, reserved;
    uint64_t trim_ns;
    unsigned trims;
    bool sampled;
};

/* Columns of time; the largest sample of each. Returns the largest of all. */
static uint64_t fill_points(struct point *points, const struct explain *explain, unsigned *trims)
{
    const struct timeline *timeline = &explain->timeline;
    uint64_t span = timeline->end_ns - timeline->begin_ns, most = 0;
    for (size_t i = 0; i < explain->read.count; i++) {
        const struct trace_event *event = &explain->read.events[i];
        bool rss = event->kind == TRACE_RSS;
        uint64_t time = rss ? event->time_ns : event->value;
        if ((!rss && event->kind != TRACE_TRIM) || time < timeline->begin_ns || time > timeline->end_ns) {
            continue;
        }
        struct point *point = &points[(size_t)((double)(time - timeline->begin_ns) / (double)span * POINTS)];
        if (rss) {
            point->sampled = true;
            point->resident = event->value > point->resident ? event->value : point->resident;
            point->reserved = event->value2 > point->reserved ? event->value2 : point->reserved;
            most = event->value > most ? event->value : most;
            most = event->value2 > most ? event->value2 : most;
        } else {
            point->trims++;
            point->trim_ns += event->time_ns - event->value;
            ++*trims;
        }
    }
    return most;
}

static double point_x(unsigned index)
{
    return REPORT_SVG_LEFT + (double)index / POINTS * REPORT_SVG_PLOT;
}

static void draw_line(FILE *out, const struct point *points, bool resident, uint64_t top)
{
    bool begun = false;
    fprintf(out, "<path class=\"line k-line-%s\" d=\"", resident ? "resident" : "reserved");
    for (unsigned i = 0; i <= POINTS; i++) {
        if (points[i].sampled) {
            uint64_t value = resident ? points[i].resident : points[i].reserved;
            fprintf(out, "%c%.1f %.1f", begun ? 'L' : 'M', point_x(i),
                    REPORT_SVG_TOP + MEMORY_HEIGHT * (1 - (double)value / (double)top));
            begun = true;
        }
    }
    fputs("\"/>\n", out);
}

static void draw_trims(FILE *out, const struct point *points, uint64_t span)
{
    for (unsigned i = 0; i <= POINTS; i++) {
        char text[CLI_TEXT_BYTES];
        double width = (double)points[i].trim_ns / (double)span * REPORT_SVG_PLOT;
        double room = REPORT_SVG_LEFT + REPORT_SVG_PLOT - point_x(i);
        width = width < 1.2 ? 1.2 : width;
        if (points[i].trims > 0) {
            fprintf(
                out,
                "<rect class=\"k-trim\" x=\"%.2f\" y=\"%d\" width=\"%.2f\" height=\"%d\"><title>%u trims, %s "
                "together</title></rect>\n",
                point_x(i), REPORT_SVG_TOP, width < room ? width : room, MEMORY_HEIGHT, points[i].trims,
                cli_text_duration(text, points[i].trim_ns));
        }
    }
}

bool report_memory(FILE *out, const struct explain *explain)
{
    struct point *points = calloc(POINTS + 1, sizeof *points);
    uint64_t span = explain->timeline.end_ns - explain->timeline.begin_ns;
    unsigned trims = 0;
    if (points == NULL) {
        return false;
    }
    uint64_t most = span > 0 ? fill_points(points, explain, &trims) : 0;
    if (most == 0 && trims == 0) {
        fputs("<p class=\"dim\">The trace has no samples of memory and no trims.</p>\n", out);
    } else {
        fprintf(
            out,
            "<p class=\"legend\"><span><i class=\"k-line-resident\"></i>resident</span><span><i "
            "class=\"k-line-reserved\"></i>reserved by the tracker</span><span><i class=\"k-trim\"></i>trims "
            "(%u)</span></p>\n",
            trims);
        report_svg_begin(out, MEMORY_HEIGHT, "Memory and trims over time");
        uint64_t top = report_svg_bytes_axis(out, MEMORY_HEIGHT, most);
        draw_trims(out, points, span);
        draw_line(out, points, false, top);
        draw_line(out, points, true, top);
        report_svg_time_axis(out, MEMORY_HEIGHT, span);
        report_svg_end(out);
    }
    free(points);
    return true;
}
