#include "coordinator/cli_output.h"

#include "conf/check.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct target {
    const struct cli_output_file *file;
    char path[PATH_MAX];      /* where the file ends up, links followed */
    char temporary[PATH_MAX]; /* empty: there is none */
    bool direct;              /* a device or pipe */
};

/* Follows links and tells kinds of targets apart. A target that doesn't exist yet is taken as it is named. */
static enum error_code target_resolve(struct target *target, const struct cli_output_file *file,
                                      struct error *error)
{
    *target = (struct target){.file = file};
    const char *path = file->path;
    struct stat info;
    if (stat(path, &info) == 0) {
        if (S_ISDIR(info.st_mode)) {
            return error_set(error, ERROR_INPUT, "%s: is a folder; name the file to write", path);
        }
        target->direct = !S_ISREG(info.st_mode);
        if (!target->direct && realpath(path, target->path) == NULL) {
            return error_set_errno(error, errno, "%s: cannot follow", path);
        }
    } else if (errno != ENOENT) {
        return error_set_errno(error, errno, "%s: cannot write", path);
    }
    if (target->path[0] == '\0' &&
        snprintf(target->path, sizeof target->path, "%s", path) >= (int)sizeof target->path) {
        return error_set_errno(error, ENAMETOOLONG, "%s: cannot write", path);
    }
    return ERROR_NONE;
}

static enum error_code write_whole(int fd, const struct target *target, struct error *error)
{
    const char *from = target->file->text;
    size_t left = target->file->length;
    while (left > 0) {
        ssize_t written = write(fd, from, left);
        if (written < 0 && errno == EINTR) {
            continue;
        }
        if (written <= 0) {
            return error_set_errno(error, written < 0 ? errno : EIO, "%s: cannot write", target->file->path);
        }
        from += written;
        left -= (size_t)written;
    }
    return ERROR_NONE;
}

static enum error_code target_write_direct(const struct target *target, struct error *error)
{
    int fd = open(target->path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0) {
        return error_set_errno(error, errno, "%s: cannot open to write", target->path);
    }
    enum error_code code = write_whole(fd, target, error);
    if (close(fd) != 0 && code == ERROR_NONE) {
        code = error_set_errno(error, errno, "%s: cannot write", target->path);
    }
    return code;
}

/* Writes and syncs the temporary file; removes it again if that fails. */
static enum error_code target_write_temporary(struct target *target, struct error *error)
{
    if (snprintf(target->temporary, sizeof target->temporary, "%s.XXXXXX", target->path) >=
        (int)sizeof target->temporary) {
        target->temporary[0] = '\0';
        return error_set_errno(error, ENAMETOOLONG, "%s: cannot write", target->file->path);
    }
    int fd = mkostemp(target->temporary, O_CLOEXEC);
    if (fd < 0) {
        target->temporary[0] = '\0';
        return error_set_errno(error, errno, "%s: cannot create a file in its folder", target->file->path);
    }
    enum error_code code = write_whole(fd, target, error);
    mode_t mask = umask(0); /* mkostemp makes private files; outputs are as any other new file */
    umask(mask);
    if (code == ERROR_NONE && (fchmod(fd, 0666 & ~mask) != 0 || fsync(fd) != 0)) {
        code = error_set_errno(error, errno, "%s: cannot write", target->file->path);
    }
    if (close(fd) != 0 && code == ERROR_NONE) {
        code = error_set_errno(error, errno, "%s: cannot write", target->file->path);
    }
    return code;
}

static void target_folder(char folder[PATH_MAX], const struct target *target)
{
    memcpy(folder, target->path, PATH_MAX);
    char *slash = strrchr(folder, '/');
    if (slash == NULL) {
        memcpy(folder, ".", 2);
    } else {
        slash[slash == folder ? 1 : 0] = '\0';
    }
}

static enum error_code target_sync_folder(const struct target *target, struct error *error)
{
    char folder[PATH_MAX];
    target_folder(folder, target);
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) {
        return ERROR_NONE; /* a folder one may write into but not read: nothing more can be done */
    }
    enum error_code code = ERROR_NONE;
    if (fsync(fd) != 0 && errno != EINVAL && errno != ENOTSUP) {
        code = error_set_errno(error, errno, "%s: cannot sync its folder", target->file->path);
    }
    close(fd);
    return code;
}

static enum error_code targets_put_in_place(struct target *targets, size_t count, struct error *error)
{
    for (size_t index = 0; index < count; index++) {
        if (targets[index].direct) {
            continue;
        }
        if (rename(targets[index].temporary, targets[index].path) != 0) {
            error_set_errno(error, errno, "%s: cannot put in place", targets[index].file->path);
            while (index-- > 0) {
                if (!targets[index].direct) {
                    unlink(targets[index].path);
                }
            }
            return error->code;
        }
        targets[index].temporary[0] = '\0';
    }
    for (size_t index = 0; index < count; index++) {
        if (!targets[index].direct && target_sync_folder(&targets[index], error) != ERROR_NONE) {
            return error->code;
        }
    }
    return ERROR_NONE;
}

static enum error_code targets_prepare(struct target *targets, size_t count, struct error *error)
{
    for (size_t index = 0; index < count; index++) {
        if (!targets[index].direct && target_write_temporary(&targets[index], error) != ERROR_NONE) {
            return error->code;
        }
    }
    for (size_t index = 0; index < count; index++) { /* these cannot be taken back: last before the renames */
        if (targets[index].direct && target_write_direct(&targets[index], error) != ERROR_NONE) {
            return error->code;
        }
    }
    return ERROR_NONE;
}

static enum error_code targets_resolve(struct target *targets, const struct cli_output_file *files,
                                       size_t count, struct error *error)
{
    CHECK(count <= CLI_OUTPUT_FILES_MAX);
    for (size_t index = 0; index < count; index++) {
        if (target_resolve(&targets[index], &files[index], error) != ERROR_NONE) {
            return error->code;
        }
        for (size_t earlier = 0; earlier < index; earlier++) {
            if (!targets[index].direct && strcmp(targets[index].path, targets[earlier].path) == 0) {
                return error_set(error, ERROR_INPUT, "%s: named twice; outputs need a file each",
                                 files[index].path);
            }
        }
    }
    return ERROR_NONE;
}

enum error_code cli_output_check(const struct cli_output_file *files, size_t count, struct error *error)
{
    struct target targets[CLI_OUTPUT_FILES_MAX];
    if (targets_resolve(targets, files, count, error) != ERROR_NONE) {
        return error->code;
    }
    for (size_t index = 0; index < count; index++) {
        char folder[PATH_MAX];
        target_folder(folder, &targets[index]);
        if (!targets[index].direct && access(folder, W_OK | X_OK) != 0) {
            return error_set_errno(error, errno, "%s: cannot write into its folder", files[index].path);
        }
    }
    return ERROR_NONE;
}

enum error_code cli_output_write(const struct cli_output_file *files, size_t count, struct error *error)
{
    struct target targets[CLI_OUTPUT_FILES_MAX];
    if (targets_resolve(targets, files, count, error) != ERROR_NONE) {
        return error->code;
    }
    enum error_code code = targets_prepare(targets, count, error);
    if (code == ERROR_NONE) {
        code = targets_put_in_place(targets, count, error);
    }
    for (size_t index = 0; index < count; index++) {
        if (targets[index].temporary[0] != '\0') {
            unlink(targets[index].temporary);
        }
    }
    return code;
}
