/* A trace from anywhere: it is refused, or explained and drawn, with parts that add up. */
#include "coordinator/chrome.h"
#include "coordinator/report.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct trace_read read;
    struct explain explain;
    struct error error;
    char *text = NULL;
    size_t length = 0;
    if (trace_read_parse(&read, bytes, size, "fuzz.trace", &error)) {
        return 0;
    }
    FILE *stream = open_memstream(&text, &length);
    if (stream == NULL || explain_init(&explain, &read, &error) != ERROR_NONE ||
        report_html(stream, &explain, "fuzz.trace", &error) != ERROR_NONE ||
        explain_print_json(stream, &explain, &error) != ERROR_NONE) {
        abort();
    }
    explain_print(stream, &explain, "fuzz.trace");
    chrome_write(stream, &explain.read);
    uint64_t idle = 0;
    for (int suspect = 0; suspect < GAPS_SUSPECTS; suspect++) {
        idle += gaps_suspect_ns(&explain.gaps, (enum gaps_suspect)suspect);
    }
    if (idle + timeline_busy_ns(&explain.timeline) != timeline_span_ns(&explain.timeline)) {
        abort();
    }
    fclose(stream);
    free(text);
    explain_close(&explain);
    return 0;
}
