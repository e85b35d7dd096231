#include "tests/sim/sim_disk.h"

#include "conf/check.h"
#include "tests/sim/sim_real.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { NODES = 1024, ENTRIES = 1024, CHANGES = 4096, BLOCK = 512 };

struct bytes {
    uint8_t *at;
    size_t size, capacity;
    bool shared; /* belongs to somebody else */
};

struct node {
    bool used, folder, dirty, poisoned;
    int64_t mtime_ns;
    struct bytes now, synced;
};

struct entry {
    int folder, node; /* folder 0: free */
    char name[SIM_DISK_NAME_BYTES];
};

/* A change of a folder's names that was not synced. A rename is one: its two names change together. */
struct change {
    int folder, node; /* node 0: the name goes */
    char name[SIM_DISK_NAME_BYTES];
    char gone[SIM_DISK_NAME_BYTES]; /* this one goes as well; "": none */
};

struct table {
    struct entry entries[ENTRIES];
    unsigned used; /* free ones among them */
};

static struct node nodes[NODES];
static int nodes_used = SIM_DISK_ROOT;
static struct table now, synced;
static struct change changes[CHANGES];
static unsigned changes_count;

/* ---- bytes ---- */

static void bytes_free(struct bytes *bytes)
{
    if (!bytes->shared) {
        __real_free(bytes->at);
    }
    *bytes = (struct bytes){0};
}

static void bytes_size(struct bytes *bytes, size_t size)
{
    CHECK(!bytes->shared);
    if (size > bytes->capacity) {
        size_t capacity = size * 2 < 1024 ? 1024 : size * 2;
        bytes->at = realloc(bytes->at, capacity);
        CHECK(bytes->at != NULL);
        bytes->capacity = capacity;
    }
    if (size > bytes->size) {
        memset(bytes->at + bytes->size, 0, size - bytes->size);
    }
    bytes->size = size;
}

static void bytes_copy(struct bytes *to, const struct bytes *from)
{
    if (from->shared || to->shared) {
        bytes_free(to);
        *to = *from;
        CHECK(from->shared);
        return;
    }
    bytes_size(to, from->size);
    if (from->size > 0) {
        memcpy(to->at, from->at, from->size);
    }
}

/* ---- tables of names ---- */

static struct entry *table_find(struct table *table, int folder, const char *name)
{
    for (unsigned i = 0; i < table->used; i++) {
        if (table->entries[i].folder == folder && strcmp(table->entries[i].name, name) == 0) {
            return &table->entries[i];
        }
    }
    return NULL;
}

static void table_set(struct table *table, int folder, const char *name, int node)
{
    struct entry *entry = table_find(table, folder, name);
    if (node == 0) {
        if (entry != NULL) {
            entry->folder = 0;
        }
        return;
    }
    for (unsigned i = 0; entry == NULL && i < table->used; i++) {
        entry = table->entries[i].folder == 0 ? &table->entries[i] : NULL;
    }
    if (entry == NULL) {
        CHECK(table->used < ENTRIES);
        entry = &table->entries[table->used++];
    }
    entry->folder = folder;
    entry->node = node;
    strcpy(entry->name, name);
}

static void apply(struct table *table, const struct change *change)
{
    if (change->gone[0] != 0) {
        table_set(table, change->folder, change->gone, 0);
    }
    table_set(table, change->folder, change->name, change->node);
}

static void change_names(int folder, const char *name, int node, const char *gone)
{
    CHECK(changes_count < CHANGES && strlen(name) < SIM_DISK_NAME_BYTES &&
          strlen(gone) < SIM_DISK_NAME_BYTES);
    struct change *change = &changes[changes_count++];
    change->folder = folder;
    change->node = node;
    strcpy(change->name, name);
    strcpy(change->gone, gone);
    apply(&now, change);
}

/* ---- nodes ---- */

static struct node *node_at(int node)
{
    CHECK(node > 0 && node <= nodes_used && nodes[node].used);
    return &nodes[node];
}

static int node_new(bool folder, int64_t mtime_ns)
{
    CHECK(nodes_used + 1 < NODES);
    nodes[++nodes_used] = (struct node){.used = true, .folder = folder, .mtime_ns = mtime_ns};
    return nodes_used;
}

void sim_disk_reset(void)
{
    for (int i = 1; i <= nodes_used; i++) {
        bytes_free(&nodes[i].now);
        bytes_free(&nodes[i].synced);
        nodes[i].used = false;
    }
    nodes[SIM_DISK_ROOT] = (struct node){.used = true, .folder = true};
    nodes_used = SIM_DISK_ROOT;
    now.used = synced.used = changes_count = 0;
}

/* Splits off the last name: *folder becomes where it is. */
static int walk(int *folder, const char *path, char name[SIM_DISK_NAME_BYTES])
{
    *folder = path[0] == '/' ? SIM_DISK_ROOT : *folder;
    for (;;) {
        path += strspn(path, "/");
        size_t length = strcspn(path, "/");
        if (length >= SIM_DISK_NAME_BYTES) {
            return -ENAMETOOLONG;
        }
        memcpy(name, path, length);
        name[length] = 0;
        path += length + strspn(path + length, "/");
        if (*path == 0) {
            return 0;
        }
        const struct entry *entry = table_find(&now, *folder, name);
        if (entry == NULL) {
            return -ENOENT;
        }
        if (!nodes[entry->node].folder) {
            return -ENOTDIR;
        }
        *folder = entry->node;
    }
}

int sim_disk_find(int folder, const char *path)
{
    char name[SIM_DISK_NAME_BYTES];
    int result = walk(&folder, path, name);
    if (result != 0) {
        return result;
    }
    if (name[0] == 0 || strcmp(name, ".") == 0) {
        return folder;
    }
    const struct entry *entry = table_find(&now, folder, name);
    return entry == NULL ? -ENOENT : entry->node;
}

int sim_disk_open(int folder, const char *path, int flags, int64_t mtime_ns)
{
    char name[SIM_DISK_NAME_BYTES];
    int found = sim_disk_find(folder, path);
    if (found == -ENOENT && (flags & O_CREAT)) {
        int result = walk(&folder, path, name);
        if (result != 0) {
            return result;
        }
        int node = node_new(false, mtime_ns);
        change_names(folder, name, node, "");
        return node;
    }
    if (found > 0 && nodes[found].folder && (flags & O_ACCMODE) != O_RDONLY) {
        return -EISDIR;
    }
    if (found > 0 && !nodes[found].folder && (flags & O_DIRECTORY)) {
        return -ENOTDIR;
    }
    if (found > 0 && (flags & O_TRUNC)) {
        sim_disk_truncate(found, 0, mtime_ns);
    }
    return found;
}

int sim_disk_mkdir(int folder, const char *path)
{
    char name[SIM_DISK_NAME_BYTES];
    int found = sim_disk_find(folder, path);
    if (found != -ENOENT) {
        return found > 0 ? -EEXIST : found;
    }
    int result = walk(&folder, path, name);
    if (result != 0) {
        return result;
    }
    change_names(folder, name, node_new(true, 0), "");
    return 0;
}

int sim_disk_rename(int folder, const char *from, const char *to)
{
    const struct entry *entry = table_find(&now, folder, from);
    if (entry == NULL) {
        return -ENOENT;
    }
    change_names(folder, to, entry->node, from);
    return 0;
}

int sim_disk_unlink(int folder, const char *name)
{
    char last[SIM_DISK_NAME_BYTES];
    int result = walk(&folder, name, last);
    if (result != 0) {
        return result;
    }
    if (table_find(&now, folder, last) == NULL) {
        return -ENOENT;
    }
    change_names(folder, last, 0, "");
    return 0;
}

const uint8_t *sim_disk_bytes(int node, size_t *size)
{
    *size = node_at(node)->now.size;
    return nodes[node].now.at;
}

void sim_disk_write(int number, const void *bytes, size_t size, uint64_t offset, int64_t mtime_ns)
{
    struct node *node = node_at(number);
    CHECK(!node->folder && offset < 1u << 30);
    if (offset + size > node->now.size) {
        bytes_size(&node->now, offset + size);
    }
    if (size > 0) {
        memcpy(node->now.at + offset, bytes, size);
    }
    node->dirty = true;
    node->mtime_ns = mtime_ns;
}

void sim_disk_truncate(int number, size_t size, int64_t mtime_ns)
{
    struct node *node = node_at(number);
    bytes_size(&node->now, size);
    node->dirty = true;
    node->poisoned = node->poisoned && size > 0;
    node->mtime_ns = mtime_ns;
}

void sim_disk_stat(int number, struct stat *status)
{
    const struct node *node = node_at(number);
    memset(status, 0, sizeof *status);
    status->st_dev = 1;
    status->st_ino = (ino_t)number;
    status->st_mode = node->folder ? S_IFDIR | 0755 : S_IFREG | 0644;
    status->st_size = (off_t)node->now.size;
    status->st_mtim.tv_sec = node->mtime_ns / 1000000000;
    status->st_mtim.tv_nsec = node->mtime_ns % 1000000000;
}

void sim_disk_sync(int number)
{
    struct node *node = node_at(number);
    if (!node->folder) {
        if (!node->poisoned && node->dirty) {
            bytes_copy(&node->synced, &node->now);
            node->dirty = false;
        }
        return;
    }
    unsigned kept = 0;
    for (unsigned i = 0; i < changes_count; i++) {
        if (changes[i].folder == number) {
            apply(&synced, &changes[i]);
        } else {
            changes[kept++] = changes[i];
        }
    }
    changes_count = kept;
}

void sim_disk_sync_failed(int node)
{
    node_at(node)->poisoned = !nodes[node].folder;
}

int sim_disk_put(const char *path, const void *bytes, size_t size, int64_t mtime_ns, int keep)
{
    char name[SIM_DISK_NAME_BYTES];
    int folder = SIM_DISK_ROOT;
    CHECK(walk(&folder, path, name) == 0);
    int number = node_new(false, mtime_ns);
    struct node *node = node_at(number);
    if (keep) {
        node->now = (struct bytes){.at = (uint8_t *)(uintptr_t)bytes, .size = size, .shared = true};
    } else {
        sim_disk_write(number, bytes, size, 0, mtime_ns);
        node->dirty = false;
    }
    bytes_copy(&node->synced, &node->now);
    table_set(&now, folder, name, number);
    table_set(&synced, folder, name, number);
    return number;
}

int sim_disk_entry(int folder, unsigned index, const char **name)
{
    for (unsigned i = 0; i < now.used; i++) {
        if (now.entries[i].folder == folder && index-- == 0) {
            *name = now.entries[i].name;
            return now.entries[i].node;
        }
    }
    return 0;
}

int sim_disk_synced_find(int folder, const char *name)
{
    const struct entry *entry = table_find(&synced, folder, name);
    return entry == NULL ? 0 : entry->node;
}

const uint8_t *sim_disk_synced_bytes(int node, size_t *size)
{
    *size = node_at(node)->synced.size;
    return nodes[node].synced.at;
}

/* ---- loss of power ---- */

static void tear(struct node *node, struct sim_random *random)
{
    struct bytes *kept = &node->synced;
    if (!node->dirty || node->poisoned || node->now.shared || sim_random_chance(random, 300)) {
        return;
    }
    if (sim_random_chance(random, 200)) {
        bytes_copy(kept, &node->now);
        return;
    }
    size_t low = kept->size < node->now.size ? kept->size : node->now.size;
    size_t high = kept->size < node->now.size ? node->now.size : kept->size;
    bytes_size(kept, sim_random_between(random, low, high));
    for (size_t at = 0; at < kept->size && at < node->now.size; at += BLOCK) {
        size_t end = at + BLOCK < kept->size ? at + BLOCK : kept->size;
        end = end < node->now.size ? end : node->now.size;
        if (sim_random_chance(random, 500)) {
            memcpy(kept->at + at, node->now.at + at, end - at);
        }
    }
}

void sim_disk_lose_power(struct sim_random *random)
{
    bool in_order = sim_random_chance(random, 500); /* as with a journal of the file system's own */
    unsigned until = (unsigned)sim_random_between(random, 0, changes_count);
    for (unsigned i = 0; i < changes_count; i++) {
        if (in_order ? i < until : sim_random_chance(random, 500)) {
            apply(&synced, &changes[i]);
        }
    }
    changes_count = 0;
    now = synced;
    for (int i = SIM_DISK_ROOT; i <= nodes_used; i++) {
        struct node *node = &nodes[i];
        if (node->folder) {
            continue;
        }
        tear(node, random);
        bytes_copy(&node->now, &node->synced);
        node->dirty = node->poisoned = false;
    }
}
