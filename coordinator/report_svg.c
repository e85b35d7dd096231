#include "coordinator/report_svg.h"

#include "coordinator/cli.h"

#include <inttypes.h>

void report_svg_text(FILE *out, const char *text)
{
    for (; *text != '\0'; text++) {
        switch (*text) {
        case '&':
            fputs("&amp;", out);
            break;
        case '<':
            fputs("&lt;", out);
            break;
        case '>':
            fputs("&gt;", out);
            break;
        case '"':
            fputs("&quot;", out);
            break;
        case '\'':
            fputs("&#39;", out);
            break;
        default:
            cli_print_plain(out, text, 1);
        }
    }
}

void report_svg_begin(FILE *out, unsigned plot_height, const char *label)
{
    fprintf(out, "<div class=\"chart\"><svg viewBox=\"0 0 %d %u\" role=\"img\" aria-label=\"",
            REPORT_SVG_WIDTH, plot_height + REPORT_SVG_TOP + REPORT_SVG_AXIS);
    report_svg_text(out, label);
    fprintf(out, "\">\n<rect class=\"plot\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%u\"/>\n",
            REPORT_SVG_LEFT, REPORT_SVG_TOP, REPORT_SVG_PLOT, plot_height);
}

void report_svg_end(FILE *out)
{
    fputs("</svg></div>\n", out);
}

double report_svg_x(uint64_t ns, uint64_t span_ns)
{
    return REPORT_SVG_LEFT + (span_ns > 0 ? (double)ns / (double)span_ns * REPORT_SVG_PLOT : 0);
}

/* The smallest of 1, 2, 5, 10, 20, ... that needs at most `ticks` steps to max. */
static uint64_t decimal_step(uint64_t max, unsigned ticks)
{
    uint64_t step = 1;
    for (unsigned i = 0; max / step > ticks; i++) {
        step = i % 3 == 1 ? step / 2 * 5 : step * 2;
    }
    return step;
}

void report_svg_time_axis(FILE *out, unsigned plot_height, uint64_t span_ns)
{
    static const struct {
        uint64_t ns;
        const char *name;
    } units[] = {{1, "ns"}, {1000, "us"}, {1000000, "ms"}, {1000000000, "s"}};
    uint64_t step = decimal_step(span_ns, 10);
    unsigned unit = 0;
    while (unit + 1 < sizeof units / sizeof units[0] && units[unit + 1].ns <= step) {
        unit++;
    }
    int y = REPORT_SVG_TOP + (int)plot_height;
    for (uint64_t at = 0; at <= span_ns; at += step) {
        double x = report_svg_x(at, span_ns);
        fprintf(out,
                "<path class=\"tick\" d=\"M%.1f %dv5\"/><text class=\"mid\" x=\"%.1f\" y=\"%d\">%" PRIu64
                "%s%s</text>\n",
                x, y, x, y + 18, at / units[unit].ns, at == 0 ? " " : "", at == 0 ? units[unit].name : "");
        if (step > UINT64_MAX - at) {
            break;
        }
    }
}

static void level(FILE *out, unsigned plot_height, double share, const char *label)
{
    double y = REPORT_SVG_TOP + plot_height * (1 - share);
    fprintf(out,
            "<path class=\"grid\" d=\"M%d %.1fh%d\"/><text class=\"end\" x=\"%d\" y=\"%.1f\">%s</text>\n",
            REPORT_SVG_LEFT, y, REPORT_SVG_PLOT, REPORT_SVG_LEFT - 8, y + 4, label);
}

void report_svg_percent_axis(FILE *out, unsigned plot_height)
{
    level(out, plot_height, 0, "0");
    level(out, plot_height, 0.5, "50%");
    level(out, plot_height, 1, "100%");
}

uint64_t report_svg_bytes_axis(FILE *out, unsigned plot_height, uint64_t max)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    unsigned shift = 0;
    while (shift < 60 && (max >> shift) > 4) {
        shift++;
    }
    uint64_t step = UINT64_C(1) << shift, ticks = (max + step - 1) / step;
    ticks = ticks > 0 ? ticks : 1;
    for (uint64_t i = 0; i <= ticks; i++) {
        char label[40];
        snprintf(label, sizeof label, "%" PRIu64 " %s", i << shift % 10, units[shift / 10]);
        level(out, plot_height, (double)i / (double)ticks, i == 0 ? "0" : label);
    }
    return ticks * step;
}

uint64_t report_svg_count_axis(FILE *out, unsigned plot_height, uint64_t max)
{
    uint64_t step = decimal_step(max, 4), ticks = (max + step - 1) / step;
    for (uint64_t i = 0; i <= ticks; i++) {
        char label[32];
        snprintf(label, sizeof label, "%" PRIu64, i * step);
        level(out, plot_height, (double)i / (double)ticks, label);
    }
    return ticks * step;
}
