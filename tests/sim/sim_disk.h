/* sim_disk.h - a file system in memory that remembers what would survive a loss of power.
 *
 * Each file has what programs read and what was last synced, each folder its names and the changes of names
 * that were not synced yet. sim_disk_lose_power keeps what was synced and, by chance, parts of the rest: any
 * of the 512-byte blocks that were written since, any of the changed names. A file whose sync has failed once
 * keeps nothing more until it is cut to nothing (the kernel drops dirty pages then and calls them clean).
 *
 * Nodes are numbers, 0 is none; the root is SIM_DISK_ROOT. Results are negative errno. There is one disk, and
 * one thread uses it. */
#ifndef TESTS_SIM_DISK_H
#define TESTS_SIM_DISK_H

#include "tests/sim/sim_random.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

enum { SIM_DISK_ROOT = 1, SIM_DISK_NAME_BYTES = 64 };

/* Forgets everything. */
void sim_disk_reset(void);

/* The node of an absolute path, or of a name in a folder ("." is the folder itself); -ENOENT, -ENOTDIR. */
int sim_disk_find(int folder, const char *path);

/* flags as open's. mtime_ns: of a file that is created or cut. */
int sim_disk_open(int folder, const char *path, int flags, int64_t mtime_ns);
int sim_disk_mkdir(int folder, const char *path);
int sim_disk_rename(int folder, const char *from, const char *to);
int sim_disk_unlink(int folder, const char *name);

/* Bytes of the file; size is what they are. */
const uint8_t *sim_disk_bytes(int node, size_t *size);
void sim_disk_write(int node, const void *bytes, size_t size, uint64_t offset, int64_t mtime_ns);
void sim_disk_truncate(int node, size_t size, int64_t mtime_ns);
void sim_disk_stat(int node, struct stat *status);

/* Files: their bytes. Folders: their names. */
void sim_disk_sync(int node);
void sim_disk_sync_failed(int node);

/* A file put there from the start, synced. The bytes are shared and not copied if `keep`. */
int sim_disk_put(const char *path, const void *bytes, size_t size, int64_t mtime_ns, int keep);

/* Number `index` of a folder's entries; 0 behind the last. */
int sim_disk_entry(int folder, unsigned index, const char **name);

/* What would be there for sure after a loss of power now: the node that a name in a folder leads to (0:
 * none), and the bytes of a file. */
int sim_disk_synced_find(int folder, const char *name);
const uint8_t *sim_disk_synced_bytes(int node, size_t *size);

void sim_disk_lose_power(struct sim_random *random);

#endif
