#include "alloc/memory.h"

#include "conf/check.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* Reads a whole small file as text; length 0 on any failure. */
static size_t memory_read_text(char *text, size_t capacity, const char *path)
{
    CHECK(capacity > 1);
    text[0] = '\0';
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return 0;
    }
    ssize_t length = read(fd, text, capacity - 1);
    close(fd);
    if (length < 0) {
        length = 0;
    }
    text[length] = '\0';
    return (size_t)length;
}

enum error_code memory_probe_open(struct memory_probe *probe, struct error *error)
{
    probe->statm = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    if (probe->statm < 0) {
        return error_set_errno(error, errno, "cannot open /proc/self/statm; is /proc mounted?");
    }
    probe->page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
    return ERROR_NONE;
}

void memory_probe_close(struct memory_probe *probe)
{
    CHECK(probe->statm >= 0);
    close(probe->statm);
    probe->statm = -1;
}

uint64_t memory_probe_rss_bytes(const struct memory_probe *probe)
{
    char text[128];
    ssize_t length = pread(probe->statm, text, sizeof text - 1, 0);
    if (length <= 0) {
        return 0;
    }
    text[length] = '\0';
    const char *space = strchr(text, ' '); /* the second number is the resident size in pages */
    return space != NULL ? strtoull(space, NULL, 10) * probe->page_bytes : 0;
}

uint64_t memory_peak_rss_bytes(void)
{
    struct rusage usage;
    return getrusage(RUSAGE_SELF, &usage) == 0 ? (uint64_t)usage.ru_maxrss * 1024 : 0;
}

static uint64_t memory_cgroup_number(const char *group, const char *file)
{
    char path[512];
    char text[64];
    int length = snprintf(path, sizeof path, "/sys/fs/cgroup%s/%s", group, file);
    if (length < 0 || (size_t)length >= sizeof path || memory_read_text(text, sizeof text, path) == 0 ||
        strncmp(text, "max", 3) == 0) {
        return UINT64_MAX;
    }
    return strtoull(text, NULL, 10);
}

/* What the limit of this process's own cgroup leaves; UINT64_MAX without one. Limits of parent groups aren't
 * read: a container sees its own group as the root. */
static uint64_t memory_cgroup_available(void)
{
    char text[512];
    if (memory_read_text(text, sizeof text, "/proc/self/cgroup") == 0 || strncmp(text, "0::/", 4) != 0) {
        return UINT64_MAX;
    }
    char *group = text + 3;
    group[strcspn(group, "\n")] = '\0';
    uint64_t limit = memory_cgroup_number(group, "memory.max");
    uint64_t current = memory_cgroup_number(group, "memory.current");
    if (limit == UINT64_MAX || current == UINT64_MAX) {
        return UINT64_MAX;
    }
    return limit > current ? limit - current : 0;
}

uint64_t memory_available_bytes(void)
{
    char text[4096];
    uint64_t available = 0;
    memory_read_text(text, sizeof text, "/proc/meminfo");
    const char *line = strstr(text, "MemAvailable:");
    if (line != NULL) {
        available = strtoull(line + strlen("MemAvailable:"), NULL, 10) * 1024;
    }
    uint64_t cgroup = memory_cgroup_available();
    return cgroup < available ? cgroup : available;
}
