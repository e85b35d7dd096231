#include "coordinator/report.h"

#include "alloc/allocator.h"
#include "coordinator/cli.h"
#include "coordinator/report_svg.h"

#include <inttypes.h>
#include <time.h>

/* Colours: each suspect and each phase has one wherever it is drawn, chosen to be told apart in light and
 * dark. */
static const char style[] =
    ":root{color-scheme:light "
    "dark;--bg:#f6f7f9;--card:#fff;--ink:#1a1d21;--dim:#68707c;--line:#e2e5ea;--busy:#2f6fbf;"
    "--lock_trim:#d6293e;--lock:#f08228;--coordinator_trim:#b3208f;--coordinator:#e77fc4;--hand_over:#e5b80b;"
    "--synthesis:#2e9e5b;--witness:#1aa6a6;--circuit:#8c6239;--memory:#7a4fd0;--copy:#59b4e8;--launch:#"
    "8a94a3;"
    "--no_work:#d5d9e0;--ready:#f3c9a5;--lane:#b9cdea;--finalize:#b48ad8;--write:#8f9aa8}\n"
    "@media(prefers-color-scheme:dark){:root{--bg:#14161a;--card:#1c1f25;--ink:#e6e8ec;--dim:#98a1ad;--line:#"
    "30353e;"
    "--busy:#5b95e0;--lock_trim:#ff5a6b;--lock:#ff9a4a;--coordinator_trim:#e05cc0;--coordinator:#f0a4d8;"
    "--hand_over:#f0cd4a;--synthesis:#4cc27c;--witness:#3cc7c7;--circuit:#c09468;--memory:#a383f0;--copy:#"
    "7cc8f4;"
    "--launch:#8a94a3;--no_work:#3a404b;--ready:#6b4f38;--lane:#34496b;--finalize:#9a78c4;--write:#6d7784}}\n"
    "*{box-sizing:border-box}body{margin:0;background:var(--bg);color:var(--ink);font:15px/1.5 "
    "system-ui,sans-serif;"
    "font-variant-numeric:tabular-nums}main{max-width:1080px;margin:0 auto;padding:28px 20px 60px}"
    "h1{font-size:25px;line-height:1.3;margin:4px 0 10px;text-wrap:balance}h2{font-size:17px;margin:0 0 4px}"
    "h3{font-size:14px;margin:14px 0 "
    "0}.dim,.over{color:var(--dim)}.over{font-size:13px;margin:0;overflow-wrap:anywhere}"
    "p{margin:2px 0 8px}section{background:var(--card);border:1px solid var(--line);border-radius:10px;"
    "padding:16px 18px "
    "12px;margin-top:16px}.tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(160px,1fr));"
    "gap:12px;margin-top:16px}.tiles div{background:var(--card);border:1px solid "
    "var(--line);border-radius:10px;"
    "padding:10px 14px}.tiles b{display:block;font-size:22px;line-height:1.25;font-weight:600}"
    ".tiles "
    "span{color:var(--dim);font-size:13px}.chart{overflow-x:auto}svg{display:block;width:100%;min-width:"
    "680px;"
    "height:auto}text{font-size:12px;fill:var(--dim)}text.strong{fill:var(--ink);font-weight:600;paint-order:"
    "stroke;stroke:var(--card);stroke-width:4px}.mid{text-"
    "anchor:middle}"
    ".end{text-anchor:end}rect{shape-rendering:crispEdges}.plot{fill:none}.grid,.tick{stroke:var(--line);"
    "fill:none}.grid{opacity:.8}"
    ".mark{stroke:var(--ink);stroke-dasharray:3 "
    "3;fill:none}.line{fill:none;stroke-width:1.8;stroke-linejoin:round}"
    ".legend{display:flex;flex-wrap:wrap;gap:4px 16px;font-size:13px;color:var(--dim);margin:6px 0 4px}"
    ".legend i{display:inline-block;width:11px;height:11px;border-radius:3px;margin-right:6px}"
    "table{border-collapse:collapse;width:100%;font-size:14px}th{font-weight:500;color:var(--dim);text-align:"
    "left;"
    "font-size:13px}td,th{padding:5px 10px 5px 0;border-bottom:1px solid var(--line);vertical-align:top}"
    "tr:last-child "
    "td{border-bottom:0}.n{text-align:right;white-space:nowrap}.bar{width:38%;padding-right:16px}"
    ".bar "
    "i{display:block;height:14px;border-radius:3px;margin-top:4px;min-width:2px}.scroll{overflow-x:auto}"
    "@media(max-width:760px){h1{font-size:21px}main{padding:16px 12px 40px}.bar{width:14%}}\n";

static void print_style(FILE *out)
{
    static const struct {
        const char *class, *colour;
    } phases[] = {{"witness", "witness"},   {"synthesis", "synthesis"}, {"ready", "ready"},
                  {"lane", "lane"},         {"copy", "copy"},           {"compute", "busy"},
                  {"finalize", "finalize"}, {"write", "write"}};
    fprintf(out, "<style>\n%s", style);
    fputs(".k-busy{fill:var(--busy);background:var(--busy)}.k-trim{fill:var(--lock_trim);background:var(--"
          "lock_trim);"
          "opacity:.45}.k-line-resident{stroke:var(--busy);background:var(--busy)}"
          ".k-line-reserved{stroke:var(--synthesis);background:var(--synthesis)}\n",
          out);
    for (int i = 0; i < GAPS_SUSPECTS; i++) {
        const char *word = gaps_suspect_word((enum gaps_suspect)i);
        fprintf(out, ".k-%s{fill:var(--%s);background:var(--%s)}", word, word, word);
    }
    for (size_t i = 0; i < sizeof phases / sizeof phases[0]; i++) {
        fprintf(out, ".k-phase-%s{fill:var(--%s);background:var(--%s)}", phases[i].class, phases[i].colour,
                phases[i].colour);
    }
    fputs("\n</style>\n", out);
}

static void print_head(FILE *out, const struct explain *explain, const char *name)
{
    char headline[EXPLAIN_HEADLINE_BYTES], when[64] = "";
    const struct trace_header *header = &explain->read.header;
    time_t seconds = (time_t)(header->start_utc_ns / 1000000000);
    struct tm utc;
    if (header->start_utc_ns != 0 && gmtime_r(&seconds, &utc) != NULL) {
        strftime(when, sizeof when, ", %Y-%m-%d %H:%M:%S UTC", &utc);
    }
    explain_headline(headline, explain);
    fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
          "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n<title>",
          out);
    report_svg_text(out, headline);
    fputs("</title>\n", out);
    print_style(out);
    fputs("</head>\n<body><main>\n<p class=\"over\">", out);
    report_svg_text(out, name);
    fputs(when, out);
    fputs("</p>\n<h1>", out);
    report_svg_text(out, headline);
    fputs("</h1>\n<p class=\"dim\">", out);
    report_svg_text(out, header->program);
    fprintf(out, ", %" PRIu32 " partitions on %u device%s, allocator ", header->partitions,
            explain->timeline.devices_count, explain->timeline.devices_count == 1 ? "" : "s");
    report_svg_text(out, header->allocator);
    fputs(", trim policy ", out);
    report_svg_text(out, header->policy);
    fprintf(out, "%s.</p>\n", explain->read.ended ? "" : "; the run did not end in order");
    if (explain->read.dropped > 0) {
        fprintf(out,
                "<p class=\"dim\">%" PRIu64 " events were dropped: what follows may be incomplete.</p>\n",
                explain->read.dropped);
    }
}

static void print_tile(FILE *out, const char *value, const char *label)
{
    fprintf(out, "<div><b>%s</b><span>%s</span></div>\n", value, label);
}

static void print_tiles(FILE *out, const struct explain *explain)
{
    char value[64], text[CLI_TEXT_BYTES], label[128];
    enum gaps_suspect top = explain->ranked[0];
    fputs("<div class=\"tiles\">\n", out);
    snprintf(value, sizeof value, "%.2f%%", 100 * explain_utilization(explain, GAPS_SUSPECTS));
    print_tile(out, value, "busy while there was work");
    snprintf(label, sizeof label, "idle, in %zu gaps", explain->gaps.count);
    print_tile(out, cli_text_duration(text, explain->gaps.idle_ns), label);
    if (explain->gaps.idle_ns > 0) {
        snprintf(label, sizeof label, "busy without: %s", gaps_suspect_text(top));
        snprintf(value, sizeof value, "%.2f%%", 100 * explain_utilization(explain, top));
        print_tile(out, value, label);
    }
    if (explain->latencies.count > 0) {
        print_tile(out, cli_text_duration(text, explain_quantile(&explain->latencies, 990)),
                   "p99 latency of a partition");
    }
    snprintf(label, sizeof label, "in %zu trim%s", explain->trims.count,
             explain->trims.count == 1 ? "" : "s");
    print_tile(out, explain->trims.count > 0 ? cli_text_duration(text, explain->trims.total_ns) : "none",
               explain->trims.count > 0 ? label : "trims");
    fputs("</div>\n", out);
}

static bool print_timelines(FILE *out, const struct explain *explain)
{
    char text[CLI_TEXT_BYTES];
    uint64_t span = explain->timeline.end_ns - explain->timeline.begin_ns;
    fprintf(out,
            "<section><h2>Utilization</h2>\n<p class=\"dim\">Share of each %s in which a device computed, "
            "and what the "
            "rest was lost to.</p>\n<p class=\"legend\"><span><i class=\"k-busy\"></i>busy</span>",
            cli_text_duration(text, explain->timeline.bucket_ns));
    for (unsigned i = 0; i < GAPS_SUSPECTS; i++) {
        enum gaps_suspect suspect = explain->ranked[i];
        if (gaps_suspect_ns(&explain->gaps, suspect) > 0) {
            fprintf(out, "<span><i class=\"k-%s\"></i>%s</span>", gaps_suspect_word(suspect),
                    gaps_suspect_text(suspect));
        }
    }
    fputs("</p>\n", out);
    for (unsigned i = 0; i < explain->timeline.devices_count && span > 0; i++) {
        fputs("<h3>", out);
        report_svg_text(out, explain->read.header.devices[i].name);
        fprintf(out, " <span class=\"dim\">busy %.2f%%</span></h3>\n",
                100 * (double)explain->timeline.devices[i].busy_ns / (double)span);
        if (!report_timeline(out, explain, i)) {
            return false;
        }
    }
    fputs("</section>\n", out);
    return true;
}

static void print_suspects(FILE *out, const struct explain *explain)
{
    if (explain->gaps.idle_ns == 0) {
        return;
    }
    fputs("<section><h2>Why the devices were idle</h2>\n<p class=\"dim\">Every nanosecond of idle time has "
          "one reason. The "
          "last column says how busy the devices would have been without it.</p>\n<div "
          "class=\"scroll\"><table>\n<tr>"
          "<th>suspect</th><th></th><th class=\"n\">time</th><th class=\"n\">of idle</th><th "
          "class=\"n\">busy without "
          "it</th></tr>\n",
          out);
    uint64_t most = gaps_suspect_ns(&explain->gaps, explain->ranked[0]);
    for (unsigned i = 0; i < GAPS_SUSPECTS; i++) {
        enum gaps_suspect suspect = explain->ranked[i];
        uint64_t ns = gaps_suspect_ns(&explain->gaps, suspect);
        char text[CLI_TEXT_BYTES];
        if (ns == 0) {
            continue;
        }
        fprintf(out, "<tr><td>%s", gaps_suspect_text(suspect));
        for (int reason = 0; reason < GAPS_REASONS; reason++) {
            uint64_t part = gaps_reason_ns(&explain->gaps, (enum gaps_reason)reason);
            if (part > 0 && part < ns && gaps_suspect_of((enum gaps_reason)reason) == suspect) {
                fprintf(out, "<br><span class=\"dim\">%s %s</span>",
                        gaps_reason_text((enum gaps_reason)reason), cli_text_duration(text, part));
            }
        }
        fprintf(out,
                "</td><td class=\"bar\"><i class=\"k-%s\" style=\"width:%.2f%%\"></i></td><td "
                "class=\"n\">%s</td><td "
                "class=\"n\">%.2f%%</td><td class=\"n\">%.2f%%</td></tr>\n",
                gaps_suspect_word(suspect), 100 * (double)ns / (double)most, cli_text_duration(text, ns),
                100 * (double)ns / (double)explain->gaps.idle_ns,
                100 * explain_utilization(explain, suspect));
    }
    fputs("</table></div></section>\n", out);
}

static void print_worst(FILE *out, const struct explain *explain)
{
    if (explain->worst_count == 0) {
        return;
    }
    fputs("<section><h2>Longest gaps</h2>\n<div class=\"scroll\"><table>\n<tr><th class=\"n\">length</th><th "
          "class=\"n\">after</th><th>device</th><th class=\"n\">until partition</th><th>reasons, in "
          "order</th></tr>\n",
          out);
    for (unsigned i = 0; i < explain->worst_count; i++) {
        const struct gaps_gap *gap = &explain->gaps.gaps[explain->worst[i]];
        char length[CLI_TEXT_BYTES], at[CLI_TEXT_BYTES], chain[EXPLAIN_CHAIN_BYTES],
            partition[16] = "the end";
        if (gap->partition != TRACE_READ_NONE) {
            snprintf(partition, sizeof partition, "%" PRIu32, gap->partition);
        }
        explain_chain(chain, explain, gap);
        fprintf(out, "<tr><td class=\"n\">%s</td><td class=\"n\">%s</td><td>",
                cli_text_duration(length, gap->end_ns - gap->begin_ns),
                cli_text_duration(at, gap->begin_ns - explain->timeline.begin_ns));
        report_svg_text(out, explain->read.header.devices[gap->device].name);
        fprintf(out, "</td><td class=\"n\">%s</td><td>", partition);
        report_svg_text(out, chain);
        fputs("</td></tr>\n", out);
    }
    fputs("</table></div></section>\n", out);
}

/* What a trim was, in the words of the allocator's own table. */
static void print_allocator(FILE *out, const struct explain *explain)
{
    const struct allocator *allocator = allocator_by_name(explain->read.header.allocator);
    if (allocator == NULL || explain->trims.count == 0) {
        return;
    }
    fprintf(out, "<p class=\"dim\">A trim was: ");
    report_svg_text(out, allocator->trim_does);
    fputs(". It leaves behind: ", out);
    report_svg_text(out, allocator->trim_cannot);
    fputs(".</p>\n", out);
}

static bool print_charts(FILE *out, const struct explain *explain)
{
    fputs("<section><h2>Partitions</h2>\n<p class=\"dim\">One line each, from top to bottom as they were "
          "begun.</p>\n",
          out);
    bool done = report_waterfall(out, explain);
    fprintf(out,
            "</section>\n<section><h2>Latency</h2>\n<p class=\"dim\">Of %zu partitions, from beginning to "
            "read or "
            "generate the witness until done.</p>\n",
            explain->latencies.count);
    done = done && report_latency(out, explain);
    fputs("</section>\n<section><h2>Memory and trims</h2>\n", out);
    print_allocator(out, explain);
    done = done && report_memory(out, explain);
    fputs("</section>\n", out);
    return done;
}

enum error_code report_html(FILE *out, const struct explain *explain, const char *name, struct error *error)
{
    print_head(out, explain, name);
    print_tiles(out, explain);
    bool done = print_timelines(out, explain);
    print_suspects(out, explain);
    print_worst(out, explain);
    done = done && print_charts(out, explain);
    fputs("</main></body>\n</html>\n", out);
    return done ? ERROR_NONE : error_set(error, ERROR_SYSTEM, "%s: no memory for its report", name);
}
