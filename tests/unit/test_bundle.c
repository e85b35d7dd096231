/* A job's proofs in one file: in order, read back as JSON, or not there at all. */
#include "tests/unit/shell_fixture.h"

#include "coordinator/bundle.h"

#include <jansson.h>

static struct config_input inputs[] = {
    {"2.wtns", "second"}, {"1.wtns", "a \"quoted\\\" \x01 stem"}, {"0.wtns", "third"}};
static struct config_job job = {.name = "votes", .output = shell_folder, .inputs = inputs, .inputs_count = 3};

static enum error_code make(struct bundle *bundle)
{
    memset(bundle, 0, sizeof *bundle);
    bundle->job = &job;
    bundle->folder = open(shell_folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(bundle->folder >= 0);
    bundle_write(bundle);
    close(bundle->folder);
    return bundle->code;
}

static void proofs_come_in_order(void **state)
{
    struct bundle bundle;
    (void)state;
    for (size_t i = 0; i < 3; ++i) {
        char name[128], text[128];
        snprintf(name, sizeof name, "%s.proof.json", inputs[i].stem);
        snprintf(text, sizeof text, "{\n \"number\": %zu\n}", i);
        shell_put(name, text, strlen(text));
        snprintf(name, sizeof name, "%s.public.json", inputs[i].stem);
        snprintf(text, sizeof text, "[\n \"%zu\"\n]", i);
        shell_put(name, text, strlen(text));
    }
    assert_int_equal(make(&bundle), ERROR_NONE);
    assert_string_equal(bundle.path, shell_path("votes.bundle.json"));
    json_t *root = json_loads(shell_get("votes.bundle.json"), 0, NULL);
    assert_int_equal(json_array_size(root), 3);
    for (size_t i = 0; i < 3; ++i) {
        json_t *entry = json_array_get(root, i);
        char number[8];
        snprintf(number, sizeof number, "%zu", i);
        assert_string_equal(json_string_value(json_object_get(entry, "stem")), inputs[i].stem);
        assert_int_equal(json_integer_value(json_object_get(json_object_get(entry, "proof"), "number")), i);
        assert_string_equal(json_string_value(json_array_get(json_object_get(entry, "public"), 0)), number);
    }
    json_decref(root);
    assert_int_equal(shell_entries(shell_folder), 7); /* no temporary file */
}

static void a_missing_proof_is_named(void **state)
{
    struct bundle bundle;
    (void)state;
    unlink(shell_path("votes.bundle.json"));
    unlink(shell_path("third.public.json"));
    assert_int_equal(make(&bundle), ERROR_INPUT);
    assert_non_null(strstr(bundle.error.text, "third.public.json"));
    assert_int_equal(shell_entries(shell_folder), 5);
    assert_int_equal(mkdir(shell_path("third.public.json"), 0777), 0);
    assert_int_equal(make(&bundle), ERROR_INPUT);
    assert_non_null(strstr(bundle.error.text, "not a plain file"));
    assert_int_equal(shell_entries(shell_folder), 6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(proofs_come_in_order),
        cmocka_unit_test(a_missing_proof_is_named),
    };
    return cmocka_run_group_tests(tests, shell_setup, shell_teardown);
}
