/* The configuration reader against texts with a known answer: DESIGN section 10's example as it stands there,
 * and a table of mistakes with the message, line included, that each must give. */
#include "conf/config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "/tmp/uzk-config-XXXXXX";

static void write_file(const char *name, const char *text)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

static void make_folder(const char *name)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    assert_int_equal(mkdir(path, 0755), 0);
}

static void make_link(const char *to, const char *name)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    assert_int_equal(symlink(to, path), 0);
}

static enum error_code read_text(struct config *config, const char *text, struct error *error)
{
    write_file("x.conf", text);
    char path[256];
    snprintf(path, sizeof path, "%s/x.conf", folder);
    return config_read(config, path, error);
}

static int setup(void **state)
{
    (void)state;
    assert_non_null(mkdtemp(folder));
    const char *files[] = {"circuit.zkey",     "witness-000.wtns",     "witness-001.wtns",
                           "witness-010.wtns", "other.wtns",           "in/b.json",
                           "in/a.json",        "in/a.c.json",          "in/[odd]*.x",
                           "deep/x.wtns",      "deep/witness-000.wtns"};
    make_folder("in");
    make_folder("deep");
    make_folder("out");
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        write_file(files[i], "");
    }
    make_link("out", "link");
    make_link(".", "here");
    make_link("nothing", "broken");
    write_file("gen", "#!/bin/sh\n");
    char path[256];
    snprintf(path, sizeof path, "%s/gen", folder);
    assert_int_equal(chmod(path, 0755), 0);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    char command[300];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return system(command);
}

static void assert_in_folder(const char *path, const char *name)
{
    char expected[256];
    snprintf(expected, sizeof expected, "%s/%s", folder, name);
    assert_string_equal(path, expected);
}

/* DESIGN section 10, letter for letter. */
static const char design_example[] =
    "circuit semaphore {\n"
    "  zkey = \"circuit.zkey\"\n"
    "}\n"
    "job votes {\n"
    "  circuit   = semaphore\n"
    "  witnesses = \"witness-*.wtns\"          # one partition each\n"
    "  output    = \"out\"                     # out/witness-000.proof.json, out/witness-000.public.json\n"
    "  priority  = normal                    # critical, high, normal, low\n"
    "  deadline  = 30s\n"
    "}\n"
    "job inputs {\n"
    "  circuit   = semaphore\n"
    "  inputs    = \"in/*.json\"\n"
    "  witness_command = { \"./gen\", \"{input}\", \"{witness}\" }   # run without a shell\n"
    "  output    = \"out\"\n"
    "}\n"
    "devices = { auto }                      # all GPUs, else the CPU; or cpu, cuda:0, sim\n"
    "lanes_per_device = 2\n"
    "threads   = auto\n"
    "memory { budget = auto\n"
    "         safety_margin = 1gb }\n"
    "trim   { policy = timer                 # off, inline, timer, pressure\n"
    "         interval = 500ms\n"
    "         min_freed = 64mb }\n"
    "allocator = tcmalloc                    # glibc, tcmalloc, jemalloc, mimalloc\n"
    "buffers   = pool                        # or heap: buffers from the allocator, for comparisons\n"
    "trace     = \"run.trace\"\n"
    "timeline  = 200ms\n"
    "self_check = true\n";

static void assert_is_design_example(const struct config *config)
{
    assert_int_equal(config->circuits_count, 1);
    assert_string_equal(config->circuits[0].name, "semaphore");
    assert_in_folder(config->circuits[0].zkey, "circuit.zkey");
    assert_int_equal(config->circuits[0].check_points, CONFIG_CHECK_CURVE);
    assert_int_equal(config->jobs_count, 2);
    const struct config_job *votes = &config->jobs[0], *inputs = &config->jobs[1];
    assert_string_equal(votes->name, "votes");
    assert_int_equal(votes->circuit, 0);
    assert_int_equal(votes->priority, CONFIG_NORMAL);
    assert_true(votes->deadline_ns == 30000000000u);
    assert_in_folder(votes->output, "out");
    assert_false(votes->bundle);
    assert_null(votes->witness_command);
    assert_int_equal(votes->inputs_count, 3);
    assert_in_folder(votes->inputs[0].path, "witness-000.wtns");
    assert_string_equal(votes->inputs[2].stem, "witness-010");
    assert_true(inputs->deadline_ns == 0);
    assert_true(inputs->witness_timeout_ns == 300000000000u);
    assert_int_equal(inputs->inputs_count, 3);
    assert_in_folder(inputs->inputs[0].path, "in/a.c.json");
    assert_string_equal(inputs->inputs[0].stem, "a.c");
    assert_string_equal(inputs->inputs[1].stem, "a");
    assert_in_folder(inputs->witness_command[0], "gen");
    assert_string_equal(inputs->witness_command[1], "{input}");
    assert_string_equal(inputs->witness_command[2], "{witness}");
    assert_null(inputs->witness_command[3]);
    assert_int_equal(config->devices_count, 0);
    assert_int_equal(config->lanes_per_device, 2);
    assert_int_equal(config->threads, 0);
    assert_true(config->memory_budget == 0);
    assert_true(config->memory_safety_margin == 1u << 30);
    assert_int_equal(config->trim_policy, CONFIG_TRIM_TIMER);
    assert_true(config->trim_interval_ns == 500000000);
    assert_true(config->trim_min_freed == 64u << 20);
    assert_true(config->allocator_set);
    assert_int_equal(config->allocator, CONFIG_TCMALLOC);
    assert_false(config->buffers_heap);
    assert_in_folder(config->trace, "run.trace");
    assert_true(config->timeline_ns == 200000000);
    assert_true(config->self_check);
}

static void test_design_example(void **state)
{
    (void)state;
    struct config config;
    struct error error;
    enum error_code code = read_text(&config, design_example, &error);
    if (code != ERROR_NONE) {
        fail_msg("%s", error.text);
    }
    assert_is_design_example(&config);
    assert_int_equal(config.circuits[0].line, 2);
    assert_int_equal(config.jobs[1].line, 13);
    config_free(&config);
    assert_null(config.jobs);
}

/* What is printed reads back as the same configuration, also from elsewhere, and prints the same again. */
static void test_print_reads_back(void **state)
{
    (void)state;
    struct config config;
    struct error error;
    assert_int_equal(read_text(&config, design_example, &error), ERROR_NONE);
    char *first, *second;
    size_t size;
    FILE *out = open_memstream(&first, &size);
    config_print(&config, out);
    fclose(out);
    config_free(&config);
    write_file("deep/printed.conf", first);
    char path[256];
    snprintf(path, sizeof path, "%s/deep/printed.conf", folder);
    if (config_read(&config, path, &error) != ERROR_NONE) {
        fail_msg("%s", error.text);
    }
    assert_is_design_example(&config);
    out = open_memstream(&second, &size);
    config_print(&config, out);
    fclose(out);
    assert_string_equal(first, second);
    config_free(&config);
    free(first);
    free(second);
}

#define CIRCUIT "circuit c { zkey = circuit.zkey\n}\n"
#define JOB     CIRCUIT "job j { circuit = c\n witnesses = other.wtns\n output = out\n}\n"

static void test_every_setting(void **state)
{
    (void)state;
    struct config config;
    struct error error;
    enum error_code code =
        read_text(&config,
                  "circuit c { zkey = \"./in/..//circuit.zkey\"\n check_points = full\n tables = h }\n"
                  "job j { circuit = c\n inputs = { \"in/\\\\[odd\\\\]\\\\*.x\", \"in/b.json\" }\n"
                  "  witness_command = { sh, \"-c\", \"cp {input} {witness}\", \"../deep/x.wtns\" }\n"
                  "  witness_timeout = 2m\n output = \"out/./deeper//\"\n bundle = yes\n priority = "
                  "critical\n deadline = 1h }\n"
                  "devices = sim\n"
                  "device sim { h2d = 0ms\n evaluate = 7us\n ntt = 1s\n msm = 2ms\n d2h = 3ns\n spread = 0\n "
                  "seed = 99 }\n"
                  "lanes_per_device = auto\nthreads = 3\nlookahead = 12\n"
                  "memory { budget = 2GB\n safety_margin = 0b }\n"
                  "trim { policy = pressure\n interval = 1ms\n min_freed = 1tb }\n"
                  "allocator = mimalloc\nbuffers = heap\ntimeline = 1s\nself_check = off\n",
                  &error);
    if (code != ERROR_NONE) {
        fail_msg("%s", error.text);
    }
    assert_in_folder(config.circuits[0].zkey, "circuit.zkey");
    assert_int_equal(config.circuits[0].check_points, CONFIG_CHECK_FULL);
    assert_int_equal(config.circuits[0].tables, CONFIG_TABLES_H);
    const struct config_job *job = &config.jobs[0];
    assert_int_equal(job->inputs_count, 2);
    assert_string_equal(job->inputs[0].stem, "[odd]*");
    assert_string_equal(job->witness_command[2], "cp {input} {witness}");
    assert_string_equal(job->witness_command[0], "sh");
    assert_true(job->witness_command[3][0] == '/');
    assert_true(job->witness_timeout_ns == 120000000000u);
    assert_in_folder(job->output, "out/deeper");
    assert_true(job->bundle);
    assert_int_equal(job->priority, CONFIG_CRITICAL);
    assert_true(job->deadline_ns == 3600000000000u);
    assert_int_equal(config.devices_count, 1);
    assert_int_equal(config.devices[0].kind, CONFIG_DEVICE_SIM);
    assert_true(config.sim.stage_ns[0] == 0 && config.sim.stage_ns[1] == 7000);
    assert_true(config.sim.stage_ns[2] == 1000000000 && config.sim.stage_ns[3] == 2000000);
    assert_true(config.sim.stage_ns[4] == 3 && config.sim.spread_percent == 0 && config.sim.seed == 99);
    assert_int_equal(config.lanes_per_device, 0);
    assert_int_equal(config.threads, 3);
    assert_int_equal(config.lookahead, 12);
    assert_true(config.memory_budget == 2ull << 30 && config.memory_safety_margin == 0);
    assert_int_equal(config.trim_policy, CONFIG_TRIM_PRESSURE);
    assert_true(config.trim_interval_ns == 1000000 && config.trim_min_freed == 1ull << 40);
    assert_int_equal(config.allocator, CONFIG_MIMALLOC);
    assert_true(config.buffers_heap);
    assert_null(config.trace);
    assert_false(config.self_check);
    config_free(&config);
}

static void test_defaults(void **state)
{
    (void)state;
    struct config config;
    struct error error;
    assert_int_equal(read_text(&config, JOB, &error), ERROR_NONE);
    assert_int_equal(config.jobs[0].priority, CONFIG_NORMAL);
    assert_int_equal(config.devices_count, 0);
    assert_int_equal(config.lanes_per_device, 0);
    assert_int_equal(config.lookahead, 0);
    assert_int_equal(config.trim_policy, CONFIG_TRIM_TIMER);
    assert_false(config.allocator_set);
    assert_true(config.timeline_ns == 200000000);
    assert_true(config.self_check);
    assert_int_equal(config.sim.spread_percent, 10);
    config_free(&config);
}

/* Settings of an included file are relative to that file, and its mistakes carry its name. */
static void test_include(void **state)
{
    (void)state;
    struct config config;
    struct error error;
    write_file("deep/part.conf", "job j { circuit = c\n witnesses = x.wtns\n output = \"../out\" }\n");
    if (read_text(&config, "include(\"deep/part.conf\")\n" CIRCUIT "threads = 2\n", &error) != ERROR_NONE) {
        fail_msg("%s", error.text);
    }
    assert_in_folder(config.jobs[0].inputs[0].path, "deep/x.wtns");
    assert_in_folder(config.jobs[0].output, "out");
    assert_int_equal(config.threads, 2);
    config_free(&config);
    write_file("deep/part.conf", "\nthreads = 3\n");
    assert_int_equal(read_text(&config, "include(deep/part.conf)\nthreads = 2\n" JOB, &error), ERROR_INPUT);
    assert_non_null(strstr(error.text, "/deep/part.conf:2: threads is set a second time, first in "));
    assert_non_null(strstr(error.text, "/x.conf:2"));
    write_file("deep/part.conf", "\n\nthread = 3\n");
    assert_int_equal(read_text(&config, JOB "include(deep/part.conf)\n", &error), ERROR_INPUT);
    assert_non_null(strstr(error.text, "/deep/part.conf:3: no such option 'thread'"));
    write_file("deep/part.conf", "# nothing\ninclude(\"../x.conf\")\n");
    assert_int_equal(read_text(&config, JOB "include(deep/part.conf)\n", &error), ERROR_INPUT);
    assert_non_null(strstr(error.text, "/x.conf is already being read: a file can be included once"));
    assert_int_equal(read_text(&config, JOB "\n\ninclude(deep/none.conf)\n", &error), ERROR_INPUT);
    assert_non_null(strstr(error.text, "/x.conf:9: include: "));
    assert_non_null(strstr(error.text, "/deep/none.conf: No such file or directory"));
}

struct mistake {
    const char *text;
    const char *message; /* behind the folder's name; %F stands for that */
};

static const struct mistake mistakes[] = {
    {"", "x.conf: no job section, so there is nothing to prove"},
    {"\n\ncolour = red\n", "x.conf:3: no such option 'colour'; known here: circuit, job, device, devices"},
    {"circuit c {\n zkeyy = a\n}\n",
     "x.conf:2: no such option 'zkeyy'; known here: zkey, check_points, tables"},
    {"circuit c {\n}\n" JOB, "x.conf:3: found duplicate title 'c'"},
    {JOB "job j {\n}\n", "x.conf:7: found duplicate title 'j'"},
    {"circuit {\n}\n", "x.conf:1: missing title for section 'circuit'"},
    {"\ncircuit c {\n zkey = circuit.zkey\n", "x.conf:2: an opening brace without a closing one"},
    {"circuit c {\n zkey \"a\"\n}\n", "x.conf:2: missing equal sign after option 'zkey'"},
    {"circuit c {\n zkey = { a, b }\n}\n", "x.conf:2: unexpected token '{'"},
    {"circuit c {\n zkey = \"a\n}\n", "x.conf:2: a string that begins here has no closing quote"},
    {"# fine\n/* not", "x.conf:2: a comment that begins here has no end"},
    {JOB "job k { witnesses = *.wtns }\n", "x.conf:7: put text with a * in it in quotes"},
    {JOB "trace = a+b\n", "x.conf:7: put text with a + in it in quotes"},
    {"a = {{{{{{{{{\n", "x.conf:1: braces are nested too deeply"},
    {"/* two\nlines */ # and\ncircuit c { # here\n check_points = { # and here\n off } }\n",
     "x.conf:4: unexpected token '{'"},
    {"}\n", "x.conf:1: a closing brace without an opening one"},
    {"circuit c {\n\n}\n", "x.conf:3: circuit c ends here without a zkey"},
    {"circuit c {\n zkey = \"\"\n}\n", "x.conf:2: zkey = \"\": expected a path"},
    {"circuit c {\n zkey = none.zkey\n}\n", "x.conf:2: zkey: %F/none.zkey: No such file or directory"},
    {"circuit c {\n zkey = in\n}\n", "x.conf:2: zkey: %F/in: a folder, not a file"},
    {"circuit c {\n zkey = \"/dev/null\"\n}\n", "x.conf:2: zkey: /dev/null: not a plain file"},
    {"circuit c {\n zkey = circuit.zkey\n zkey = circuit.zkey\n}\n",
     "x.conf:3: zkey is set a second time, first in %F/x.conf:2"},
    {"circuit c {\n zkey = circuit.zkey\n check_points = some\n}\n",
     "x.conf:3: check_points = \"some\": expected one of off, curve, full"},
    {CIRCUIT "job j {\n witnesses = other.wtns\n output = out\n}\n",
     "x.conf:6: job j ends here without a circuit"},
    {CIRCUIT "job j {\n circuit = d\n witnesses = other.wtns\n output = out\n}\n",
     "x.conf:4: circuit = \"d\": there is no such circuit section"},
    {CIRCUIT "job j { circuit = c\n output = out\n}\n", "x.conf:5: job j ends here without witnesses"},
    {CIRCUIT "job j { circuit = c\n witnesses = other.wtns\n}\n",
     "x.conf:5: job j ends here without an output"},
    {CIRCUIT "job j { circuit = c\n witnesses = other.wtns\n output = other.wtns }\n",
     "x.conf:5: output: %F/other.wtns: exists and is not a folder"},
    {CIRCUIT "job j { circuit = c\n witnesses = \"*.w\"\n output = out }\n",
     "x.conf:4: witnesses: \"*.w\" names no file"},
    {CIRCUIT "job j { circuit = c\n witnesses = { other.wtns, none.wtns }\n output = out }\n",
     "x.conf:4: witnesses: \"none.wtns\" names no file"},
    {CIRCUIT "job j { circuit = c\n witnesses = in\n output = out }\n",
     "x.conf:4: %F/in: a folder, not a file"},
    {CIRCUIT "job j { circuit = c\n witnesses = other.wtns\n inputs = \"in/a.json\"\n output = out }\n",
     "x.conf:4: job j has both witnesses and inputs"},
    {CIRCUIT "job j { circuit = c\n inputs = \"in/a.json\"\n output = out }\n",
     "x.conf:4: job j has inputs but no witness_command"},
    {CIRCUIT "job j { circuit = c\n witnesses = other.wtns\n witness_command = { \"./gen\", \"{input}\", "
             "\"{witness}\" }\n output = out }\n",
     "x.conf:5: job j has a witness_command but no inputs"},
    {CIRCUIT "job j { circuit = c\n inputs = \"in/a.json\"\n witness_command = { \"./gen\", \"{input}\" }\n "
             "output = out }\n",
     "x.conf:5: witness_command names no {witness}"},
    {CIRCUIT
     "job j { circuit = c\n inputs = \"in/a.json\"\n witness_command = { \"./gen\", \"{witness}\" }\n "
     "output = out }\n",
     "x.conf:5: witness_command names no {input}"},
    {CIRCUIT
     "job j { circuit = c\n inputs = \"in/a.json\"\n witness_command = { \"./generate\", \"{input}\", "
     "\"{witness}\" }\n output = out }\n",
     "x.conf:5: witness_command: %F/generate: No such file or directory"},
    {CIRCUIT
     "job j { circuit = c\n inputs = \"in/a.json\"\n witness_command = { \"./other.wtns\", \"{input}\", "
     "\"{witness}\" }\n output = out }\n",
     "x.conf:5: witness_command: %F/other.wtns: not executable"},
    {CIRCUIT "job j { circuit = c\n inputs = \"in/a.json\"\n witness_command = { \"no-such-program-here\", "
             "\"{input}\", \"{witness}\" }\n output = out }\n",
     "x.conf:5: witness_command: no-such-program-here: no such program in PATH"},
    {CIRCUIT "job \"a/b\" { circuit = c\n witnesses = other.wtns\n output = out\n}\n",
     "x.conf:6: the name of job \"a/b\", from which its bundle takes its own, has a slash in it"},
    {CIRCUIT "job \".j\" { circuit = c\n witnesses = other.wtns\n output = out }\n", "starts with a dot"},
    {CIRCUIT "job \"\" { circuit = c\n witnesses = other.wtns\n output = out }\n", "is empty"},
    {CIRCUIT "job j { circuit = c\n witnesses = other.wtns\n output = out\n priority = urgent }\n",
     "x.conf:6: priority = \"urgent\": expected one of critical, high, normal, low"},
    {CIRCUIT "job j { circuit = c\n witnesses = other.wtns\n output = out\n deadline = 30 }\n",
     "x.conf:6: deadline = \"30\": expected a duration with its unit"},
    {CIRCUIT "job j { circuit = c\n witnesses = other.wtns\n output = out\n deadline = 0s }\n",
     "x.conf:6: deadline = \"0s\" is too short; leave it out for no deadline"},
    {CIRCUIT "job j { circuit = c\n witnesses = other.wtns\n output = out\n bundle = maybe }\n",
     "x.conf:6: bundle = \"maybe\": expected one of false, true"},
    {CIRCUIT "job j { circuit = c\n witnesses = { \"witness-000.wtns\", \"deep/witness-000.wtns\" }\n"
             " output = out }\n",
     "x.conf:5: %F/deep/witness-000.wtns (job j) and %F/witness-000.wtns (job j) would both be written to "
     "%F/out/witness-000.proof.json"},
    {JOB "job k { circuit = c\n witnesses = other.wtns\n output = \"./out/\" }\n",
     "x.conf:9: %F/other.wtns (job j) and %F/other.wtns (job k) would both be written to"},
    {JOB "job k { circuit = c\n witnesses = other.wtns\n output = link }\n",
     "x.conf:9: %F/other.wtns (job j) and %F/other.wtns (job k) would both be written to "
     "%F/link/other.proof.json; %F/out is the same folder"},
    {JOB "job k { circuit = c\n witnesses = other.wtns\n output = \"none/../out\" }\n",
     "would both be written to %F/out/other.proof.json"},
    {JOB "job k { circuit = c\n witnesses = other.wtns\n output = \"here/deep/../here/out\" }\n",
     "; %F/out is the same folder"},
    {CIRCUIT "job j { circuit = c\n witnesses = other.wtns\n output = \"new/deeper\" }\n"
             "job k { circuit = c\n witnesses = other.wtns\n output = \"here/new/deeper\" }\n",
     "; %F/new/deeper is the same folder"},
    {CIRCUIT "job j { circuit = c\n witnesses = other.wtns\n output = broken }\n",
     "x.conf:5: output: %F/broken: a symbolic link to nothing"},
    {CIRCUIT "job j { circuit = c\n witnesses = other.wtns\n output = \"broken/out\" }\n",
     "x.conf:5: output: %F/broken: a symbolic link to nothing"},
    {CIRCUIT "job j { circuit = c\n witnesses = other.wtns\n output = \"other.wtns/out\" }\n",
     "x.conf:5: output: %F/other.wtns: exists and is not a folder"},
    {JOB "devices = { auto, cpu }\n",
     "x.conf:7: devices: \"auto\": expected auto alone, or cpu, cuda:N or sim"},
    {JOB "devices = { cuda }\n", "x.conf:7: devices: \"cuda\": expected auto, cpu, cuda:N or sim"},
    {JOB "devices = { cuda:x }\n", "x.conf:7: devices: \"cuda:x\": expected"},
    {JOB "devices = { cuda:1,\n cpu, cuda:1 }\n", "x.conf:7: devices: cuda:1 is named twice"},
    {JOB "devices = { cpu, sim }\n", "x.conf:7: devices: sim proves nothing"},
    {JOB "device gpu {\n}\n", "x.conf:8: device gpu: only the simulated device has settings"},
    {JOB "device sim { spread = 101 }\n",
     "x.conf:7: spread = \"101\": expected a whole number from 0 to 100"},
    {JOB "device sim { msm = 3 }\n", "x.conf:7: msm = \"3\": expected a duration with its unit"},
    {JOB "lanes_per_device = 0\n",
     "x.conf:7: lanes_per_device = \"0\": expected auto or a whole number from 1 to 64"},
    {JOB "threads = -1\n", "x.conf:7: threads = \"-1\": expected auto or a whole number"},
    {JOB "threads = 2;\n",
     "x.conf:7: threads = \"2;\": expected auto or a whole number from 1 to 1024 (no semicolon"},
    {JOB "lookahead = 1.5\n", "x.conf:7: lookahead = \"1.5\": expected auto or a whole number"},
    {JOB "memory { budget = 4096 }\n", "x.conf:7: budget = \"4096\": expected auto or a size with its unit"},
    {JOB "memory { safety_margin = auto }\n",
     "x.conf:7: safety_margin = \"auto\": expected a size with its unit"},
    {JOB "memory { budget = 0gb }\n", "x.conf:7: budget = \"0gb\": write auto"},
    {JOB "memory { budget = 1gb }\nmemory { budget = 2gb }\n",
     "x.conf:8: budget is set a second time, first in %F/x.conf:7"},
    {JOB "trim {\n polcy = off }\n",
     "x.conf:8: no such option 'polcy'; known here: policy, interval, min_freed"},
    {JOB "trim {\n policy = often }\n",
     "x.conf:8: policy = \"often\": expected one of off, inline, timer, pressure"},
    {JOB "trim { interval = 10us }\n", "x.conf:7: interval = \"10us\" is too short"},
    {JOB "allocator = dlmalloc\n", "x.conf:7: allocator = \"dlmalloc\": expected one of glibc"},
    {JOB "buffers = stack\n", "x.conf:7: buffers = \"stack\": expected one of pool, heap"},
    {JOB "timeline = 200\n", "x.conf:7: timeline = \"200\": expected a duration with its unit"},
    {JOB "self_check = 1\n", "x.conf:7: self_check = \"1\": expected one of false, true"},
    {JOB "include(\"\")\n", "x.conf:7: include takes one file name"},
};

static void expand_folder(char text[1024], const char *message)
{
    size_t used = 0;
    for (const char *at = message; *at != '\0'; at++) {
        if (at[0] == '%' && at[1] == 'F') {
            used += (size_t)snprintf(text + used, 1024 - used, "%s", folder);
            at++;
        } else {
            text[used++] = *at;
        }
    }
    text[used] = '\0';
}

static void test_mistakes(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof mistakes / sizeof *mistakes; i++) {
        struct config config;
        struct error error;
        char expected[1024];
        expand_folder(expected, mistakes[i].message);
        enum error_code code = read_text(&config, mistakes[i].text, &error);
        if (code != ERROR_INPUT || strstr(error.text, expected) == NULL) {
            fail_msg("mistake %zu:\n%s\nexpected: %s\nfound: %s", i, mistakes[i].text, expected, error.text);
        }
        assert_null(config.circuits);
    }
}

static void test_several_at_once(void **state)
{
    (void)state;
    struct config config;
    struct error error;
    assert_int_equal(read_text(&config, JOB "threads = x\ntimeline = y\n", &error), ERROR_INPUT);
    assert_non_null(strstr(error.text, "x.conf:7: threads"));
    assert_non_null(strstr(error.text, "\n"));
    assert_non_null(strstr(error.text, "x.conf:8: timeline"));
}

/* A second run's pattern must not take the first run's outputs for inputs. */
static void test_input_among_outputs(void **state)
{
    (void)state;
    struct config config;
    struct error error;
    write_file("out/a.json", "");
    write_file("out/a.proof.json", "");
    write_file("out/a.public.json", "");
    assert_int_equal(
        read_text(&config,
                  CIRCUIT "job j { circuit = c\n inputs = \"out/*.json\"\n"
                          "witness_command = { \"./gen\", \"{input}\", \"{witness}\" }\n output = out }\n",
                  &error),
        ERROR_INPUT);
    assert_non_null(strstr(error.text, "/out/a.proof.json is what job j writes for "));
    assert_int_equal(
        read_text(&config,
                  CIRCUIT "job j { circuit = c\n inputs = \"link/*.json\"\n"
                          "witness_command = { \"./gen\", \"{input}\", \"{witness}\" }\n output = out }\n",
                  &error),
        ERROR_INPUT);
    assert_non_null(strstr(error.text, "/link/a.proof.json is what job j writes for "));
}

/* The files in conf/ that need nothing but the source; reference.conf states the defaults. */
static void test_ready_configurations(void **state)
{
    (void)state;
    const char *names[] = {"small.conf", "sim.conf", "reference.conf"};
    struct config config;
    struct error error;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char path[512];
        snprintf(path, sizeof path, "%s/../../conf/%s", UZK_TEST_DATA, names[i]);
        if (config_read(&config, path, &error) != ERROR_NONE) {
            if (strstr(error.text, "node: no such program in PATH") != NULL) {
                continue; /* reference.conf shows a witness_command that needs it */
            }
            fail_msg("%s", error.text);
        }
        assert_int_equal(config.circuits_count, 1);
        assert_true(config.jobs[0].inputs_count >= 4);
        assert_int_equal(config.jobs_count, strcmp(names[i], "reference.conf") == 0 ? 2 : 1);
        struct config plain;
        assert_int_equal(read_text(&plain, JOB, &error), ERROR_NONE);
        if (strcmp(names[i], "sim.conf") != 0) {
            assert_memory_equal(&config.sim, &plain.sim, sizeof plain.sim);
            assert_int_equal(config.trim_policy, plain.trim_policy);
            assert_true(config.memory_safety_margin == plain.memory_safety_margin);
            assert_true(config.trim_interval_ns == plain.trim_interval_ns);
            assert_true(config.trim_min_freed == plain.trim_min_freed);
            assert_true(config.timeline_ns == plain.timeline_ns);
            assert_int_equal(config.lanes_per_device, plain.lanes_per_device);
            assert_int_equal(config.circuits[0].check_points, plain.circuits[0].check_points);
            assert_int_equal(config.jobs[0].priority, plain.jobs[0].priority);
            assert_int_equal(config.jobs[0].bundle, plain.jobs[0].bundle);
            assert_int_equal(config.self_check, plain.self_check);
        }
        config_free(&plain);
        config_free(&config);
    }
}

static void test_not_there(void **state)
{
    (void)state;
    struct config config;
    struct error error;
    assert_int_equal(config_read(&config, "/nonexistent/x.conf", &error), ERROR_INPUT);
    assert_string_equal(error.text,
                        "/nonexistent/x.conf: cannot open the configuration: No such file or directory");
    assert_int_equal(config_read(&config, "/", &error), ERROR_INPUT);
}

static void test_units(void **state)
{
    (void)state;
    uint64_t value;
    assert_true(config_duration_ns(&value, "18446744073709551615ns") && value == UINT64_MAX);
    assert_true(config_duration_ns(&value, "5124095h") && value == 18446742000000000000u);
    assert_true(config_duration_ns(&value, "1m") && value == 60000000000u);
    const char *durations[] = {
        "", "s", "5", "-5s", "1.5s", "5 s", "5S", "5M", "18446744073709551616ns", "5124096h", "5sec", "+5s"};
    for (size_t i = 0; i < sizeof durations / sizeof *durations; i++) {
        assert_false(config_duration_ns(&value, durations[i]));
    }
    assert_true(config_size_bytes(&value, "64mb") && value == 67108864);
    assert_true(config_size_bytes(&value, "64MB") && value == 67108864);
    assert_true(config_size_bytes(&value, "16777215tb") && value == 16777215ull << 40);
    const char *sizes[] = {"", "mb", "64", "64m", "1.5gb", "16777216tb", "18446744073709551616b", "64 mb"};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        assert_false(config_size_bytes(&value, sizes[i]));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_design_example),  cmocka_unit_test(test_print_reads_back),
        cmocka_unit_test(test_every_setting),   cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_include),         cmocka_unit_test(test_mistakes),
        cmocka_unit_test(test_several_at_once), cmocka_unit_test(test_input_among_outputs),
        cmocka_unit_test(test_not_there),       cmocka_unit_test(test_ready_configurations),
        cmocka_unit_test(test_units),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
