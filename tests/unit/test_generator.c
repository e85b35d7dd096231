/* Witness commands: run without a shell, their end and their last words known, killed with all they started.
 */
#include "tests/unit/shell_fixture.h"

#include "coordinator/generator.h"

#include <signal.h>
#include <sys/wait.h>

static struct generator generator;

struct bench {
    struct arena arena;
    struct crew crew;
    struct shell_ring ring;
};

static void bench_open(struct bench *bench)
{
    struct error error;
    const struct crew_settings settings = {.short_threads = 1, .tasks_max = 4};
    assert_int_equal(arena_open(&bench->arena, crew_arena_bytes(&settings), &error), ERROR_NONE);
    assert_int_equal(crew_open(&bench->crew, &bench->arena, &settings, &error), ERROR_NONE);
    shell_ring_open(&bench->ring);
    loop_poll(&bench->ring.loop, (struct loop_token){LOOP_DOORBELL, 0, 0}, bench->crew.doorbell, true);
}

static void bench_close(struct bench *bench)
{
    loop_cancel(&bench->ring.loop, (struct loop_token){LOOP_DOORBELL, 0, 0});
    while (loop_in_flight(&bench->ring.loop) > 0) {
        shell_ring_next(&bench->ring);
    }
    shell_ring_close(&bench->ring);
    crew_close(&bench->crew);
    arena_close(&bench->arena);
}

static bool step(struct bench *bench)
{
    struct worker_task task;
    struct loop_completion completion = shell_ring_next(&bench->ring);
    switch (completion.token.kind) {
    case LOOP_DOORBELL:
        if (crew_take(&bench->crew, &task)) {
            assert_int_equal(task.kind, 77);
            assert_int_equal(task.index, 2);
            return generator_spawned(&generator, &bench->ring.loop);
        }
        return false;
    case LOOP_CHILD:
    case LOOP_CAPTURE:
        assert_int_equal(completion.token.slot, 2);
        return generator_complete(&generator, &bench->ring.loop, &completion);
    default:
        return false;
    }
}

/* Runs a shell's command line; kill_at: a file whose appearance is waited for before it is killed, or NULL.
 */
static enum error_code run_command(const char *line, const char *kill_at)
{
    struct bench bench;
    char *command[] = {"/bin/sh", "-c", (char *)line, "{input}", "a{witness}b{input}", NULL};
    char input[2 * PATH_MAX], folder[PATH_MAX];
    snprintf(input, sizeof input, "%s", shell_path("in.json"));
    snprintf(folder, sizeof folder, "%s", shell_folder);
    const struct generator_request request = {command, input, folder, "w"};
    bench_open(&bench);
    generator_start(&generator, &bench.crew, 77, 2, &request);
    if (kill_at == NULL) {
        while (!step(&bench)) {
        }
    } else {
        bool ended = false;
        while (!ended && generator.step != GENERATOR_RUNNING) {
            ended = step(&bench);
        }
        while (!shell_exists(kill_at)) {
            usleep(1000);
        }
        generator_kill(&generator);
        while (!ended) {
            ended = step(&bench);
        }
    }
    bench_close(&bench);
    assert_int_equal(generator.step, GENERATOR_IDLE);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* no child is left */
    return generator.code;
}

static void arguments_are_substituted(void **state)
{
    (void)state;
    shell_put("in.json", "{}", 2);
    int output = open(shell_folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int folder = generator_folder_open(output);
    assert_true(folder >= 0);
    assert_int_equal(
        run_command("printf '%s|%s' \"$0\" \"$1\" > \"${0%in.json}.uzk.witnesses/w.wtns\"", NULL),
        ERROR_NONE);
    char expected[8 * PATH_MAX];
    snprintf(expected, sizeof expected, "%s/in.json|a%s/.uzk.witnesses/w.wtnsb%s/in.json", shell_folder,
             shell_folder, shell_folder);
    assert_string_equal(shell_get(".uzk.witnesses/w.wtns"), expected);
    struct stat status;
    assert_int_equal(generator.input_size, 2);
    assert_int_equal(fstat(folder, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0700);
    close(folder);
    folder = generator_folder_open(output); /* a second run finds what a killed one left, and empties it */
    assert_int_equal(shell_entries(shell_path(".uzk.witnesses")), 0);
    shell_put(".uzk.witnesses/x", "", 0);
    generator_folder_remove(output, folder);
    assert_false(shell_exists(".uzk.witnesses"));
    close(output);
}

/* A command that is not what it should be leaves anything: folders in place of its witness and beside it, a
 * folder that may not be read, links to what is none of its business. */
static void what_it_left_is_removed(void **state)
{
    (void)state;
    int output = open(shell_folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    shell_put("in.json", "{}", 2);
    shell_put("kept", "kept", 4);
    for (int killed = 0; killed < 2; ++killed) {
        int folder = generator_folder_open(output);
        assert_true(folder >= 0);
        assert_int_equal(
            run_command(
                "cd \"${0%in.json}.uzk.witnesses\" && mkdir -p w.wtns/a/b/c beside && "
                "touch file w.wtns/a/b/file beside/.hidden && chmod 0 beside/.hidden && "
                "mkdir -m 0 closed && ln -s ../.. beside/up && ln -s .. up && ln -s nowhere w.wtns/x && "
                "mkfifo pipe && ln ../kept linked",
                NULL),
            ERROR_NONE);
        assert_int_equal(shell_entries(shell_path(".uzk.witnesses")), 7);
        if (killed) { /* the run that comes next empties it */
            close(folder);
            folder = generator_folder_open(output);
            assert_int_equal(shell_entries(shell_path(".uzk.witnesses")), 0);
        }
        generator_folder_remove(output, folder);
        assert_false(shell_exists(".uzk.witnesses"));
        assert_string_equal(shell_get("kept"), "kept");
    }
    close(output);
}

/* A tower of folders costs no more than its first floors; the folder for witnesses remains usable. */
static void what_is_too_deep_stays(void **state)
{
    (void)state;
    int output = open(shell_folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int folder = generator_folder_open(output);
    assert_int_equal(
        run_command(
            "cd \"${0%in.json}.uzk.witnesses\" && i=0 && while [ $i -lt 40 ]; do mkdir d; cd d; touch f; "
            "i=$((i + 1)); done",
            NULL),
        ERROR_NONE);
    generator_folder_remove(output, folder);
    assert_true(shell_exists(".uzk.witnesses/d/d"));
    assert_false(shell_exists(".uzk.witnesses/d/d/f"));
    folder = generator_folder_open(output);
    assert_true(folder >= 0);
    close(folder);
    shell_remove(shell_path(".uzk.witnesses"));
    close(output);
}

static void ended_with(const char *line, const char *expected)
{
    assert_int_equal(run_command(line, NULL), ERROR_INPUT);
    if (strstr(generator.error.text, expected) == NULL || strstr(generator.error.text, "in.json") == NULL) {
        fail_msg("'%s' lacks '%s' or the input", generator.error.text, expected);
    }
}

static void failures_are_told_with_the_last_words(void **state)
{
    (void)state;
    ended_with("exit 3", "exit code 3, and printed nothing");
    ended_with("echo out; echo err >&2; exit 1", "exit code 1; it printed: out err");
    ended_with("kill -SEGV $$", "signal 11 (Segmentation fault)");
    ended_with("printf 'a\\033[31mb\\000c'; exit 1", "it printed: a?[31mb?c");
    ended_with("cat; exit 9", "exit code 9, and printed nothing"); /* its input is empty */
    ended_with("i=0; while [ $i -lt 20000 ]; do echo 0123456789; i=$((i+1)); done; echo the end; exit 1",
               "0123456789 the end");
    assert_true(strlen(generator.error.text) < ERROR_TEXT_BYTES - 1);
}

static void what_it_started_ends_with_it(void **state)
{
    (void)state;
    /* A grandchild holds the pipe, and would for an hour. */
    assert_int_equal(run_command("sleep 3600 & echo $! > \"${0%in.json}pid\"", NULL), ERROR_NONE);
    pid_t pid = (pid_t)strtol(shell_get("pid"), NULL, 10);
    for (int i = 0; i < 10000 && kill(pid, 0) == 0; ++i) {
        char path[64], line[256] = "";
        snprintf(path, sizeof path, "/proc/%d/stat", pid);
        FILE *file = fopen(path, "re");
        if (file == NULL || fgets(line, sizeof line, file) == NULL || strstr(line, ") Z ") != NULL) {
            pid = 0; /* gone, or dead and not yet collected by its new parent */
        }
        if (file != NULL) {
            fclose(file);
        }
        if (pid == 0) {
            break;
        }
        usleep(1000);
    }
    assert_true(pid == 0 || kill(pid, 0) != 0);
    unlink(shell_path("pid"));
}

static void one_that_escapes_does_not_hold_us_up(void **state)
{
    (void)state;
    /* In a session of its own the sleeper survives with the pipe open; the end of the command is what counts.
     */
    assert_int_equal(run_command("setsid sleep 2 & exit 0", NULL), ERROR_NONE);
}

static void a_kill_ends_it(void **state)
{
    (void)state;
    assert_int_equal(
        run_command("trap '' INT TERM; echo begun; touch \"${0%in.json}begun\"; sleep 3600; echo never",
                    "begun"),
        ERROR_CANCELED);
    assert_non_null(strstr(generator.error.text, "was killed; it printed: begun"));
    unlink(shell_path("begun"));
}

static void what_cannot_start_is_named(void **state)
{
    struct bench bench;
    char *command[] = {"/nowhere/program", NULL};
    char input[2 * PATH_MAX];
    (void)state;
    snprintf(input, sizeof input, "%s", shell_path("in.json"));
    for (int missing = 0; missing < 2; ++missing) {
        const struct generator_request request = {command, missing ? "/nowhere/in.json" : input, shell_folder,
                                                  "w"};
        bench_open(&bench);
        generator_start(&generator, &bench.crew, 77, 2, &request);
        while (!step(&bench)) {
        }
        bench_close(&bench);
        assert_int_equal(generator.code, ERROR_INPUT);
        assert_non_null(strstr(generator.error.text, missing ? "/nowhere/in.json" : "/nowhere/program"));
        assert_non_null(strstr(generator.error.text, "No such file"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arguments_are_substituted),
        cmocka_unit_test(what_it_left_is_removed),
        cmocka_unit_test(what_is_too_deep_stays),
        cmocka_unit_test(failures_are_told_with_the_last_words),
        cmocka_unit_test(what_it_started_ends_with_it),
        cmocka_unit_test(one_that_escapes_does_not_hold_us_up),
        cmocka_unit_test(a_kill_ends_it),
        cmocka_unit_test(what_cannot_start_is_named),
    };
    return cmocka_run_group_tests(tests, shell_setup, shell_teardown);
}
