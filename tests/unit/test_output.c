/* A proof's files: whole under their final names, or not there at all and nothing left behind. */
#include "tests/unit/shell_fixture.h"

#include "coordinator/output.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

static enum error_code write_pair(const char *stem, const char *public_text, const char *proof,
                                  struct error *error)
{
    struct shell_ring ring;
    static struct output output; /* zero at first, then used again as a slot does */
    int folder = open(shell_folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(folder >= 0);
    shell_ring_open(&ring);
    output_file_set(&output, 0, stem, ".public.json", public_text, strlen(public_text));
    output_file_set(&output, 1, stem, ".proof.json", proof, strlen(proof));
    error->text[0] = 0;
    output_start(&output, &ring.loop, 3, folder, "out", 2);
    for (bool ended = false; !ended;) {
        struct loop_completion completion = shell_ring_next(&ring);
        assert_int_equal(completion.token.kind, LOOP_OUTPUT);
        assert_int_equal(completion.token.slot / OUTPUT_TOKENS, 3);
        ended = output_complete(&output, &ring.loop, &completion, error);
    }
    shell_ring_close(&ring);
    close(folder);
    return output.code;
}

static void both_files_appear(void **state)
{
    struct error error;
    (void)state;
    assert_int_equal(write_pair("w", "[]", "{proof}", &error), ERROR_NONE);
    assert_string_equal(shell_get("w.public.json"), "[]");
    assert_string_equal(shell_get("w.proof.json"), "{proof}");
    assert_int_equal(shell_entries(shell_folder), 2);
    assert_int_equal(write_pair("w", "[1]", "{longer proof}", &error), ERROR_NONE); /* over the old ones */
    assert_string_equal(shell_get("w.public.json"), "[1]");
    assert_string_equal(shell_get("w.proof.json"), "{longer proof}");
    assert_int_equal(shell_entries(shell_folder), 2);
    unlink(shell_path("w.public.json"));
    unlink(shell_path("w.proof.json"));
}

/* A folder where a file should go, for each file in turn, at each step that can meet it. */
static void what_stands_in_the_way_is_named(void **state)
{
    static const char *const names[] = {".w.public.json.tmp", ".w.proof.json.tmp", "w.public.json",
                                        "w.proof.json"};
    (void)state;
    for (unsigned i = 0; i < 4; ++i) {
        struct error error;
        assert_int_equal(mkdir(shell_path(names[i]), 0777), 0);
        assert_int_equal(write_pair("w", "[]", "{proof}", &error), ERROR_SYSTEM);
        assert_non_null(strstr(error.text, "out/.w.p"));
        assert_non_null(strstr(error.text, "irectory"));
        assert_int_equal(shell_entries(shell_folder), 1); /* the obstacle only */
        assert_int_equal(rmdir(shell_path(names[i])), 0);
    }
}

/* With a limit on file sizes the first write is short and the next one fails: as on a disk that fills up. */
static void a_short_write_is_continued_and_its_failure_named(void **state)
{
    (void)state;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        static char big[10001];
        struct error error;
        const struct rlimit limit = {5000, 5000};
        memset(big, 'x', sizeof big - 1);
        signal(SIGXFSZ, SIG_IGN);
        setrlimit(RLIMIT_FSIZE, &limit);
        bool right = write_pair("big", "[]", big, &error) == ERROR_SYSTEM &&
                     strstr(error.text, "writing") != NULL &&
                     strstr(error.text, ".big.proof.json.tmp") != NULL && shell_entries(shell_folder) == 0;
        _exit(right ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void names_of_leftovers(void **state)
{
    (void)state;
    assert_true(output_is_leftover(".w.proof.json.tmp"));
    assert_true(output_is_leftover(".w.public.json.tmp"));
    assert_true(output_is_leftover(".a.b.simulated.json.tmp"));
    assert_true(output_is_leftover(".job.bundle.json.tmp"));
    assert_false(output_is_leftover("w.proof.json"));
    assert_false(output_is_leftover("w.proof.json.tmp"));
    assert_false(output_is_leftover(".w.proof.json"));
    assert_false(output_is_leftover(".proof.json.tmp"));
    assert_false(output_is_leftover(".tmp"));
    assert_false(output_is_leftover(".other.tmp"));
    assert_false(output_is_leftover(""));
}

static void names_must_fit(void **state)
{
    char stem[NAME_MAX + 1] = "";
    struct error error;
    (void)state;
    size_t longest = NAME_MAX - strlen("..public.json.tmp");
    memset(stem, 's', longest);
    assert_true(output_name_fits(stem, ".public.json"));
    assert_int_equal(write_pair(stem, "[]", "{}", &error), ERROR_NONE);
    assert_int_equal(shell_entries(shell_folder), 2);
    stem[longest] = 's';
    assert_false(output_name_fits(stem, ".public.json"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_files_appear),
        cmocka_unit_test(what_stands_in_the_way_is_named),
        cmocka_unit_test(a_short_write_is_continued_and_its_failure_named),
        cmocka_unit_test(names_of_leftovers),
        cmocka_unit_test(names_must_fit),
    };
    return cmocka_run_group_tests(tests, shell_setup, shell_teardown);
}
