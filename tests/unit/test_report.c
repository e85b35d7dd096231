#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "coordinator/chrome.h"
#include "coordinator/report.h"
#include "tests/unit/explain_world.h"

#include <jansson.h>
#include <math.h>

static char *page(const struct explain *explain, const char *name)
{
    char *text = NULL;
    size_t length = 0;
    struct error error;
    FILE *stream = open_memstream(&text, &length);
    assert_int_equal(report_html(stream, explain, name, &error), ERROR_NONE);
    fclose(stream);
    return text;
}

/* Elements that have no end. */
static bool is_void(const char *name)
{
    return strcmp(name, "meta") == 0 || strcmp(name, "br") == 0 || strcmp(name, "!DOCTYPE") == 0;
}

/* Every tag that opens is closed, in order: what is not escaped would show here. */
static void check_tags(const char *text)
{
    char stack[32][16];
    unsigned depth = 0;
    for (const char *at = strchr(text, '<'); at != NULL; at = strchr(at, '<')) {
        char name[16] = "";
        bool closes = at[1] == '/';
        const char *from = at + (closes ? 2 : 1), *end = strchr(at, '>');
        assert_non_null(end);
        size_t length = strcspn(from, " />\n");
        assert_true(length > 0 && length < sizeof name);
        memcpy(name, from, length);
        if (closes) {
            assert_true(depth > 0);
            assert_string_equal(stack[--depth], name);
        } else if (!is_void(name) && end[-1] != '/') {
            assert_true(depth < 32);
            memcpy(stack[depth++], name, sizeof name);
        }
        at = end;
    }
    assert_int_equal(depth, 0);
}

/* Coordinates are numbers and lie within the picture. */
static void check_numbers(const char *text)
{
    static const char *const attributes[] = {" x=\"", " y=\"", " width=\"", " height=\""};
    for (int i = 0; i < 4; i++) {
        for (const char *at = strstr(text, attributes[i]); at != NULL; at = strstr(at, attributes[i])) {
            char *end;
            at += strlen(attributes[i]);
            double number = strtod(at, &end);
            assert_true(end > at && *end == '"');
            assert_true(isfinite(number) && number >= -1 && number <= 1010);
        }
    }
}

static void check_page(const char *text)
{
    assert_null(strstr(text, "<script"));
    assert_null(strstr(text, "://"));
    assert_null(strstr(text, "src="));
    assert_null(strstr(text, "href="));
    assert_null(strstr(text, "@import"));
    assert_null(strstr(text, "url("));
    assert_non_null(strstr(text, "prefers-color-scheme:dark"));
    check_tags(text);
    check_numbers(text);
}

static void test_pages(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 80; seed++) {
        struct world world;
        struct explain explain;
        char headline[EXPLAIN_HEADLINE_BYTES];
        world_init(&world, seed, (unsigned)(seed % (GAPS_SUSPECTS + 1)));
        for (size_t i = 0; i < world.count && seed > 50; i++) { /* some with losses */
            if (world_chance(&world, 300)) {
                world.events[i--] = world.events[--world.count];
            }
        }
        open_world(&explain, &world);
        char *text = page(&explain, "run.trace");
        check_page(text);
        explain_headline(headline, &explain);
        assert_non_null(strstr(text, headline));
        free(text);
        explain_close(&explain);
        world_deinit(&world);
    }
}

static void test_escaping(void **state)
{
    (void)state;
    struct world world;
    struct explain explain;
    world_init(&world, 5, WORLD_MIXED);
    strcpy(world.header.program, "<script>alert('1')</script>");
    strcpy(world.header.allocator, "\"><b>&");
    strcpy(world.header.devices[0].name, "<i>\"");
    open_world(&explain, &world);
    char *text = page(&explain, "<img src=x>.trace");
    check_tags(text);
    assert_null(strstr(text, "<script"));
    assert_null(strstr(text, "<img"));
    assert_non_null(strstr(text, "&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt;"));
    assert_non_null(strstr(text, "&quot;&gt;&lt;b&gt;&amp;"));
    free(text);
    explain_close(&explain);
    world_deinit(&world);
}

/* A trim is said to be what the allocator's trim is, and what it can't do. */
static void test_allocators_are_told(void **state)
{
    (void)state;
    struct world world;
    struct explain explain;
    world_init(&world, 4, GAPS_SUSPECT_LOCK_TRIM);
    strcpy(world.header.allocator, "mimalloc");
    open_world(&explain, &world);
    char *text = page(&explain, "run.trace");
    assert_non_null(strstr(text, "A trim was: mi_collect(true)"));
    assert_non_null(strstr(text, "It leaves behind: "));
    free(text);
    strcpy(explain.read.header.allocator, "libasan.so.8");
    text = page(&explain, "run.trace");
    assert_null(strstr(text, "A trim was"));
    free(text);
    explain_close(&explain);
    world_deinit(&world);
}

static unsigned occurrences(const char *text, const char *what)
{
    unsigned count = 0;
    while ((text = strstr(text, what)) != NULL) {
        text++;
        count++;
    }
    return count;
}

/* A hundred thousand partitions: the page stays small, and shows the first and the last of them. */
static void test_bounded(void **state)
{
    enum { PARTITIONS = 100000 };
    (void)state;
    struct world world;
    struct explain explain;
    memset(&world, 0, sizeof world);
    world.header.devices_count = 1;
    world.begin_ns = 10000;
    world_header(&world);
    world_event(&world, TRACE_STATE, CORE_QUEUED, 0, 0, 0, PARTITIONS, 10000);
    for (uint32_t i = 0; i < PARTITIONS; i++) {
        uint64_t at = 10000 + UINT64_C(1000) * i;
        world_state(&world, i, CORE_READING, at);
        world_stage(&world, 0, i, DEVICE_STAGE_MSM, at + 100, at + 1000 - i % 2);
        world_state(&world, i, CORE_DONE, at + 1100);
        world_event(&world, TRACE_RSS, 0, 0, 0, i, i, at);
        world_event(&world, TRACE_TRIM, 3, 0, 0, at, 0, at + 10);
    }
    open_world(&explain, &world);
    char *text = page(&explain, "big.trace");
    check_page(text);
    assert_in_range(strlen(text), 10000, 500000);
    assert_int_equal(occurrences(text, "<title>partition "), REPORT_ROWS_MAX);
    assert_non_null(strstr(text, "<title>partition 0,"));
    assert_non_null(strstr(text, "<title>partition 99999,"));
    free(text);
    explain_close(&explain);
    world_deinit(&world);
}

static void test_empty(void **state)
{
    (void)state;
    struct world world;
    struct explain explain;
    memset(&world, 0, sizeof world);
    world.header.devices_count = 1;
    world.begin_ns = 10000;
    world_header(&world);
    open_world(&explain, &world);
    char *text = page(&explain, "empty.trace");
    check_page(text);
    free(text);
    explain_close(&explain);
    world_deinit(&world);
}

/* Read back by a JSON library: a slice for each stage, and their lengths are the trace's to the nanosecond.
 */
static void test_chrome(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct world world;
        struct explain explain;
        char *text = NULL;
        size_t length = 0, index, slices = 0, stages = 0;
        double listed_ns = 0, true_ns = 0;
        world_init(&world, seed, WORLD_MIXED);
        strcpy(world.header.program, "a \"quoted\\ name");
        open_world(&explain, &world);
        FILE *stream = open_memstream(&text, &length);
        chrome_write(stream, &explain.read);
        fclose(stream);
        json_t *root = json_loadb(text, length, 0, NULL), *slice;
        assert_non_null(root);
        json_array_foreach(json_object_get(root, "traceEvents"), index, slice)
        {
            const char *phase = json_string_value(json_object_get(slice, "ph"));
            json_int_t process = json_integer_value(json_object_get(slice, "pid"));
            if (strcmp(phase, "X") == 0 && process <= (json_int_t)world.header.devices_count) {
                slices++;
                listed_ns += json_number_value(json_object_get(slice, "dur")) * 1000;
            }
        }
        for (size_t i = 0; i < world.count; i++) {
            if (world.events[i].kind == TRACE_STAGE) {
                stages++;
                true_ns += (double)(world.events[i].time_ns - world.events[i].value);
            }
        }
        assert_int_equal(slices, stages);
        assert_true(fabs(listed_ns - true_ns) < 0.5);
        json_decref(root);
        free(text);
        explain_close(&explain);
        world_deinit(&world);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pages),
        cmocka_unit_test(test_escaping),
        cmocka_unit_test(test_allocators_are_told),
        cmocka_unit_test(test_bounded),
        cmocka_unit_test(test_empty),
        cmocka_unit_test(test_chrome),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
