/* Fuzzes the configuration: any text gives settings or an error with a message that names the file, and
 * nothing stays allocated. It is read as a user's would be, from a folder that holds some inputs which it may
 * name. */
#include "conf/check.h"
#include "conf/config.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char folder[] = "/tmp/uzk-fuzz-config-XXXXXX";
static char path[sizeof folder + 16];
static int folder_file;
static const char *const files[] = {"a.zkey",    "b.zkey",    "w-0.wtns",   "w-1.wtns",
                                    "in/0.json", "in/1.json", "extra.conf", "fuzz.conf"};

static void put(const char *name, const void *bytes, size_t size)
{
    int file = openat(folder_file, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    CHECK(file >= 0 && write(file, bytes, size) == (ssize_t)size);
    close(file);
}

static void folder_remove(void)
{
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        unlinkat(folder_file, files[i], 0);
    }
    unlinkat(folder_file, "in", AT_REMOVEDIR);
    rmdir(folder);
}

static void folder_make(void)
{
    static const char extra[] = "threads = 1\n";
    CHECK(mkdtemp(folder) != NULL);
    folder_file = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    CHECK(folder_file >= 0 && mkdirat(folder_file, "in", 0700) == 0);
    snprintf(path, sizeof path, "%s/fuzz.conf", folder);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        put(files[i], extra, sizeof extra - 1);
    }
    clearenv(); /* ${NAME} stands for a variable's value */
    atexit(folder_remove);
}

/* A pattern may name the whole machine, which takes as long as the machine is large. A path here stays in the
 * folder: no slash but after a name, no parent, no byte by its number. */
static bool stays_inside(const uint8_t *data, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        uint8_t before = i == 0 ? '/' : data[i - 1], after = i + 1 == size ? 'x' : data[i + 1];
        bool name = (before >= 'a' && before <= 'z') || (before >= '0' && before <= '9') || before == '*';
        if ((data[i] == '/' && !name) || (data[i] == '.' && after == '.') ||
            (data[i] == '\\' && (after == 'x' || (after >= '0' && after <= '9')))) {
            return false;
        }
    }
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static bool made;
    struct config config;
    struct error error = {0};
    if (!made) {
        folder_make();
        made = true;
    }
    if (!stays_inside(data, size)) {
        return 0;
    }
    put("fuzz.conf", data, size);
    enum error_code code = config_read(&config, path, &error);
    if (code != ERROR_NONE) {
        CHECK((code == ERROR_INPUT || code == ERROR_SYSTEM) && error.text[0] != '\0');
        return 0;
    }
    CHECK(config.jobs_count > 0 && config.circuits_count > 0);
    config_free(&config);
    return 0;
}
