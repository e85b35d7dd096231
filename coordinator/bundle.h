/* bundle.h - all proofs of a job in one file, in the order of its partitions.
 *
 * OUTPUT/JOB.bundle.json is an array with one object a partition: {"stem": ..., "proof": ..., "public": ...},
 * proof and public as in the partition's own files, which are read back from the output folder and must all
 * be there. The bundle is written under a temporary name, synced and renamed, and the folder is synced.
 *
 * bundle_write is a task for the crew's long thread: it blocks and allocates. Linear in the bytes of the
 * proofs. */
#ifndef COORDINATOR_BUNDLE_H
#define COORDINATOR_BUNDLE_H

#include "conf/config.h"
#include "conf/error.h"

#include <limits.h>
#include <stdint.h>

struct bundle {
    const struct config_job *job;
    int folder;          /* open */
    uint32_t generation; /* the caller's */
    char path[PATH_MAX]; /* of the bundle, for messages */
    enum error_code code;
    struct error error;
};

#define BUNDLE_SUFFIX ".bundle.json"

/* Sets code and error. */
void bundle_write(void *bundle);

#endif
