#include "coordinator/bundle.h"

#include "coordinator/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static enum error_code refuse(struct bundle *bundle, const char *name, const char *what)
{
    return bundle->code =
               error_set_errno(&bundle->error, errno, "%s/%s: %s", bundle->job->output, name, what);
}

static void put_string(FILE *out, const char *text)
{
    fputc('"', out);
    for (const unsigned char *at = (const unsigned char *)text; *at != 0; ++at) {
        if (*at == '"' || *at == '\\') {
            fprintf(out, "\\%c", *at);
        } else if (*at < 32) {
            fprintf(out, "\\u%04x", *at);
        } else {
            fputc(*at, out);
        }
    }
    fputc('"', out);
}

static enum error_code copy_file(struct bundle *bundle, FILE *out, const char *stem, const char *suffix)
{
    char name[OUTPUT_NAME_BYTES];
    char bytes[16384];
    struct stat status;
    snprintf(name, sizeof name, "%s%s", stem, suffix);
    int file = openat(bundle->folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (file < 0) {
        return refuse(bundle, name, "opening");
    }
    if (fstat(file, &status) != 0 || !S_ISREG(status.st_mode)) {
        close(file);
        return bundle->code = error_set(&bundle->error, ERROR_INPUT, "%s/%s: not a plain file",
                                        bundle->job->output, name);
    }
    ssize_t got;
    while ((got = read(file, bytes, sizeof bytes)) > 0) {
        fwrite(bytes, 1, (size_t)got, out);
    }
    enum error_code code = got < 0 ? refuse(bundle, name, "reading") : ERROR_NONE;
    close(file);
    return code;
}

static enum error_code put_all(struct bundle *bundle, FILE *out)
{
    const struct config_job *job = bundle->job;
    enum error_code code = ERROR_NONE;
    fputs("[", out);
    for (size_t i = 0; i < job->inputs_count && code == ERROR_NONE; ++i) {
        const char *stem = job->inputs[i].stem;
        fputs(i == 0 ? "\n{\"stem\": " : ",\n{\"stem\": ", out);
        put_string(out, stem);
        fputs(", \"proof\": ", out);
        code = copy_file(bundle, out, stem, ".proof.json");
        fputs(", \"public\": ", out);
        code = code != ERROR_NONE ? code : copy_file(bundle, out, stem, ".public.json");
        fputs("}", out);
    }
    fputs("\n]\n", out);
    return code;
}

static enum error_code put_in_place(struct bundle *bundle, FILE *out, const char *temporary, const char *name)
{
    if (fflush(out) != 0 || ferror(out) || fsync(fileno(out)) != 0) {
        return refuse(bundle, temporary, "writing");
    }
    if (renameat(bundle->folder, temporary, bundle->folder, name) != 0) {
        return refuse(bundle, temporary, "renaming to its final name");
    }
    if (fsync(bundle->folder) != 0 && errno != EINVAL) {
        return refuse(bundle, name, "syncing the output folder");
    }
    return ERROR_NONE;
}

void bundle_write(void *argument)
{
    struct bundle *bundle = argument;
    char name[OUTPUT_NAME_BYTES], temporary[OUTPUT_NAME_BYTES];
    bundle->code = ERROR_NONE;
    if (!output_name_fits(bundle->job->name, BUNDLE_SUFFIX)) {
        errno = ENAMETOOLONG;
        refuse(bundle, bundle->job->name, "naming the bundle");
        return;
    }
    snprintf(name, sizeof name, "%s%s", bundle->job->name, BUNDLE_SUFFIX);
    snprintf(temporary, sizeof temporary, ".%s%s.tmp", bundle->job->name, BUNDLE_SUFFIX);
    snprintf(bundle->path, sizeof bundle->path, "%s/%s", bundle->job->output, name);
    int file = openat(bundle->folder, temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0666);
    FILE *out = file < 0 ? NULL : fdopen(file, "w");
    if (out == NULL) {
        refuse(bundle, temporary, "creating");
        if (file >= 0) {
            close(file);
        }
        return;
    }
    if (put_all(bundle, out) == ERROR_NONE) {
        (void)put_in_place(bundle, out, temporary, name);
    }
    fclose(out);
    if (bundle->code != ERROR_NONE) {
        unlinkat(bundle->folder, temporary, 0);
    }
}
