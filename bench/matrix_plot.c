#include "bench/matrix_plot.h"

#include "conf/check.h"

#include <math.h>
#include <string.h>

enum {
    COLUMNS = 4,
    PANEL_WIDTH = 300,
    LABEL_WIDTH = 78,
    BAR_HEIGHT = 7,
    BAR_STEP = 9,
    GROUP_GAP = 10,
    HEAD = 84,
    PANEL_HEAD = 34,
    VALUE_WIDTH = 46
};

static const char *const style =
    "<style>text{font:11px system-ui,sans-serif;fill:#222}.t{font-size:17px;font-weight:600}"
    ".h{font-size:12.5px;font-weight:600}.v{font-size:8.5px;fill:#666}.w{stroke:#222;stroke-width:1}"
    ".bg{fill:#fff}.c0{fill:#8a94a3}.c1{fill:#e07b39}.c2{fill:#2f7ed8}.c3{fill:#3aa675}.c4{fill:#c8323c}"
    ".heap{opacity:.55}@media(prefers-color-scheme:dark){text{fill:#ddd}.v{fill:#999}.bg{fill:#16181c}"
    ".w{stroke:#ddd}}</style>\n";

/* A colour for each policy, whatever the plan's order. */
static unsigned colour_of(const char *policy)
{
    static const char *const known[] = {"off", "inline", "timer", "pressure", MATRIX_UNDER_LOCK};
    unsigned i = 0;
    while (i < sizeof known / sizeof *known - 1 && strcmp(known[i], policy) != 0) {
        i++;
    }
    return i;
}

static double largest(const struct matrix *matrix, unsigned batch, enum outcome_number number)
{
    double most = 0;
    for (size_t i = 0; i < matrix->cells_count; i++) {
        const struct matrix_cell *cell = &matrix->cells[i];
        if (cell->batch == batch && cell->count > 0) {
            most = fmax(most, matrix_spread_of(cell, number).most);
        }
    }
    return most;
}

static void plot_bar(FILE *out, const struct matrix_cell *cell, enum outcome_number number, double x,
                     double y, double scale)
{
    if (cell->count == 0) {
        fprintf(out, "<text class='v' x='%.1f' y='%.1f'>failed</text>\n", x + 3, y + BAR_HEIGHT);
        return;
    }
    const struct matrix_spread spread = matrix_spread_of(cell, number);
    const double middle = y + BAR_HEIGHT / 2.0;
    fprintf(out, "<rect class='c%u%s' x='%.1f' y='%.1f' width='%.1f' height='%d'/>", colour_of(cell->policy),
            strcmp(cell->buffers, "heap") == 0 ? " heap" : "", x, y, spread.median * scale, BAR_HEIGHT);
    fprintf(out, "<line class='w' x1='%.1f' x2='%.1f' y1='%.1f' y2='%.1f'/>", x + spread.least * scale,
            x + spread.most * scale, middle, middle);
    fprintf(out, "<text class='v' x='%.1f' y='%.1f'>%.*f</text>\n", x + spread.most * scale + 4,
            y + BAR_HEIGHT,
            spread.median < 10     ? 2
            : spread.median < 1000 ? 1
                                   : 0,
            spread.median);
}

static void plot_panel(FILE *out, const struct matrix *matrix, unsigned batch, enum outcome_number number,
                       double x, double y)
{
    const double most = largest(matrix, batch, number);
    const double scale = most > 0 ? (PANEL_WIDTH - LABEL_WIDTH - VALUE_WIDTH) / most : 0;
    const char *group = NULL;
    double at = y + PANEL_HEAD;
    fprintf(out, "<text class='h' x='%.1f' y='%.1f'>%s</text>\n", x, y + 16, outcome_label(number));
    for (size_t i = 0; i < matrix->cells_count; i++) {
        const struct matrix_cell *cell = &matrix->cells[i];
        if (cell->batch != batch) {
            continue;
        }
        if (cell->allocator != group) {
            at += group != NULL ? GROUP_GAP : 0;
            group = cell->allocator;
            fprintf(out, "<text x='%.1f' y='%.1f'>%s</text>\n", x, at + BAR_HEIGHT + 1, group);
        }
        plot_bar(out, cell, number, x + LABEL_WIDTH, at, scale);
        at += BAR_STEP;
    }
}

static void plot_key(FILE *out, const struct matrix *matrix)
{
    double x = 20;
    for (unsigned i = 0; i <= matrix->policies.count; i++) {
        if (i == matrix->policies.count && !matrix->baseline) {
            break;
        }
        const char *policy = i < matrix->policies.count ? matrix->policies.names[i] : MATRIX_UNDER_LOCK;
        fprintf(out,
                "<rect class='c%u' x='%.1f' y='52' width='11' height='11'/><text x='%.1f' y='62'>%s</text>",
                colour_of(policy), x, x + 16, policy);
        x += 40 + 7.0 * (double)strlen(policy);
    }
    fprintf(out, "<text class='v' x='%.1f' y='62'>pale: buffers from the heap; full: from the pool</text>\n",
            x);
}

static unsigned bars_of(const struct matrix *matrix, unsigned batch)
{
    unsigned bars = 0;
    for (size_t i = 0; i < matrix->cells_count; i++) {
        bars += matrix->cells[i].batch == batch;
    }
    return bars;
}

void matrix_plot(FILE *out, const struct matrix *matrix, unsigned batch)
{
    CHECK(batch < matrix->batches_count);
    const struct matrix_batch *measured = &matrix->batches[batch];
    const unsigned rows = (MATRIX_SHOWN + COLUMNS - 1) / COLUMNS;
    const unsigned width = 20 + COLUMNS * (PANEL_WIDTH + 16);
    const unsigned panel_height =
        PANEL_HEAD + bars_of(matrix, batch) * BAR_STEP + matrix->allocators.count * GROUP_GAP + 16;
    fprintf(
        out,
        "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 %u %u' width='%u' height='%u' role='img'>\n%s",
        width, HEAD + rows * panel_height, width, HEAD + rows * panel_height, style);
    fprintf(out, "<rect class='bg' width='100%%' height='100%%'/>\n");
    fprintf(out, "<text class='t' x='20' y='32'>%s: %u partitions on %s, ballast %s</text>\n", measured->name,
            measured->partitions, measured->simulated ? "the simulated device" : "the CPU",
            measured->ballast);
    plot_key(out, matrix);
    for (unsigned i = 0; i < MATRIX_SHOWN; i++) {
        plot_panel(out, matrix, batch, matrix_shown[i], 20 + i % COLUMNS * (PANEL_WIDTH + 16.0),
                   HEAD + (double)(i / COLUMNS) * panel_height);
    }
    fprintf(out, "</svg>\n");
}
