/* The source tree keeps its own rules: a folder includes only itself and folders left of it (DESIGN section
 * 4), tests and benchmarks are included by nobody, and a file name occurs once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const layers[] = {"conf", "alloc", "groth16", "cuda", "coordinator"};
enum { LAYERS = sizeof layers / sizeof *layers, FILES_MAX = 4096 };

static char *names[FILES_MAX]; /* paths of all source files */
static size_t names_count;
static size_t includes_seen, faults;

static int layer_of(const char *path, size_t length)
{
    for (int i = 0; i < LAYERS; i++) {
        if (strlen(layers[i]) == length && strncmp(path, layers[i], length) == 0) {
            return i;
        }
    }
    return -1;
}

static bool has_suffix(const char *path, const char *suffix)
{
    size_t length = strlen(path), tail = strlen(suffix);
    return length > tail && strcmp(path + length - tail, suffix) == 0;
}

static void check_include(const char *path, int layer, int line, const char *included)
{
    size_t folder = strcspn(included, "/\"");
    int target = layer_of(included, folder);
    includes_seen++;
    if (included[folder] != '/' || target < 0 || target > layer) {
        print_error("%s:%d: %s must not include \"%.*s\"\n", path, line, layers[layer],
                    (int)strcspn(included, "\""), included);
        faults++;
    }
}

static void check_includes(const char *path, int layer)
{
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    char text[1024];
    for (int line = 1; fgets(text, sizeof text, file) != NULL; line++) {
        const char *at = text + strspn(text, " \t");
        if (*at != '#') {
            continue;
        }
        at++;
        at += strspn(at, " \t");
        if (strncmp(at, "include", 7) == 0 && (at = strchr(at, '"')) != NULL) {
            check_include(path, layer, line, at + 1);
        }
    }
    fclose(file);
}

static int visit(const char *path, const struct stat *status, int type, struct FTW *place)
{
    (void)status;
    const char *name = path + place->base;
    if (type == FTW_D) {
        bool skipped = place->level > 0 && (name[0] == '.' || strcmp(name, "node_modules") == 0 ||
                                            strcmp(name, "data") == 0 || strncmp(name, "build", 5) == 0 ||
                                            strcmp(name, "out") == 0 || strcmp(name, "corpus") == 0);
        return skipped ? FTW_SKIP_SUBTREE : FTW_CONTINUE;
    }
    if (has_suffix(name, ".c") || has_suffix(name, ".h") || has_suffix(name, ".cu") ||
        has_suffix(name, ".sh") || has_suffix(name, ".mjs") || has_suffix(name, ".conf")) {
        assert_true(names_count < FILES_MAX);
        names[names_count] = strdup(path);
        assert_non_null(names[names_count]);
        names_count++;
    }
    return FTW_CONTINUE;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(strrchr(*(char *const *)a, '/'), strrchr(*(char *const *)b, '/'));
}

static int setup(void **state)
{
    (void)state;
    static char root[4096];
    assert_non_null(realpath(UZK_TEST_DATA "/../..", root));
    assert_int_equal(nftw(root, visit, 16, FTW_PHYS | FTW_ACTIONRETVAL), 0);
    *state = root;
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    while (names_count > 0) {
        free(names[--names_count]);
    }
    return 0;
}

static void test_includes(void **state)
{
    const char *root = *state;
    size_t files = 0;
    for (size_t i = 0; i < names_count; i++) {
        const char *path = names[i] + strlen(root) + 1;
        int layer = layer_of(path, strcspn(path, "/"));
        if (layer >= 0 && (has_suffix(path, ".c") || has_suffix(path, ".h") || has_suffix(path, ".cu"))) {
            check_includes(names[i], layer);
            files++;
        }
    }
    assert_int_equal(faults, 0);
    assert_true(files > 20 && includes_seen > files);
}

static void test_names_are_unique(void **state)
{
    (void)state;
    qsort(names, names_count, sizeof *names, compare_names);
    for (size_t i = 1; i < names_count; i++) {
        if (compare_names(&names[i - 1], &names[i]) == 0) {
            print_error("%s and %s have the same name\n", names[i - 1], names[i]);
            faults++;
        }
    }
    assert_int_equal(faults, 0);
    assert_true(names_count > 40);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_includes),
        cmocka_unit_test(test_names_are_unique),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
