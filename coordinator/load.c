#include "coordinator/load.h"

#include "conf/check.h"
#include "coordinator/loop.h"
#include "groth16/wtns.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* The identity is taken before the key is opened: if the file is replaced in between, the journal names the
 * older one, and a later run proves again rather than too little. */
static enum error_code take_identity(struct load *load)
{
    struct stat status;
    if (stat(load->config->zkey, &status) != 0) {
        return error_set_errno(&load->error, errno, "%s: opening", load->config->zkey);
    }
    load->key_size = (uint64_t)status.st_size;
    load->key_mtime_ns = (int64_t)status.st_mtim.tv_sec * 1000000000 + status.st_mtim.tv_nsec;
    return ERROR_NONE;
}

void load_look(struct load *load)
{
    struct zkey key;
    memset(&load->sizes, 0, sizeof load->sizes);
    load->look_code = take_identity(load);
    if (load->look_code == ERROR_NONE) {
        load->look_code = zkey_open(&key, load->config->zkey, &load->error);
    }
    if (load->look_code != ERROR_NONE) {
        return;
    }
    load->sizes = (struct load_sizes){.wires = key.wires,
                                      .publics = key.publics,
                                      .resident_bytes = key.size + circuit_memory_size(&key) + sizeof *load};
    load->sizes.shape.key = key;
    load->sizes.shape.ntt.log2 = key.domain_log2;
    zkey_close(&key);
}

/* Proofs from which on a table saves more than it costs to make, with room for error. */
enum { TABLES_PROOFS_MIN = 100 };

/* Whether a quarter of a witness' values are longer than 64 bits. */
static bool mostly_long(const uint8_t *bytes, size_t size, const char *path)
{
    struct wtns witness;
    struct error ignored;
    if (wtns_parse(&witness, bytes, size, path, &ignored) != ERROR_NONE) {
        return false; /* the partition will say what is wrong with it */
    }
    uint32_t longer = 0;
    for (uint32_t i = 0; i < witness.count; ++i) {
        u256 value;
        u256_load_le(&value, witness.values + (size_t)i * WTNS_VALUE_BYTES);
        longer += (value.w[1] | value.w[2] | value.w[3]) != 0;
    }
    return longer >= witness.count / 4;
}

static bool witness_is_long(const char *path)
{
    struct stat status;
    bool answer = false;
    int file = path == NULL ? -1 : open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) {
        return false;
    }
    if (fstat(file, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0) {
        size_t size = (size_t)status.st_size;
        void *bytes = mmap(NULL, size, PROT_READ, MAP_PRIVATE, file, 0);
        if (bytes != MAP_FAILED) {
            answer = mostly_long(bytes, size, path);
            munmap(bytes, size);
        }
    }
    close(file);
    return answer;
}

void load_choose_tables(struct load *load, uint64_t proofs, uint64_t allowed_bytes, const char *witness)
{
    enum multiples_kind kind = MULTIPLES_NONE;
    CHECK(load->look_code == ERROR_NONE && load->tables == MULTIPLES_NONE);
    switch (load->config->tables) {
    case CONFIG_TABLES_OFF:
        break;
    case CONFIG_TABLES_H:
        kind = MULTIPLES_H;
        break;
    case CONFIG_TABLES_ALL:
        kind = MULTIPLES_ALL;
        break;
    case CONFIG_TABLES_AUTO:
        if (proofs >= TABLES_PROOFS_MIN) {
            kind = witness_is_long(witness) ? MULTIPLES_ALL : MULTIPLES_H;
        }
        break;
    }
    for (; kind != MULTIPLES_NONE; kind = kind == MULTIPLES_ALL ? MULTIPLES_H : MULTIPLES_NONE) {
        const struct multiples shape = multiples_shape(&load->sizes.shape.key, kind);
        const size_t bytes = multiples_size(&load->sizes.shape.key, &shape);
        if (bytes <= allowed_bytes) {
            load->sizes.shape.multiples = shape;
            load->sizes.resident_bytes += bytes;
            load->tables = kind;
            return;
        }
    }
}

static enum error_code map_memory(struct load *load, void **memory, size_t bytes, const char *purpose)
{
    void *mapped = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED) {
        return error_set_errno(&load->error, errno, "%s: no memory for the %zu bytes of its %s",
                               load->config->zkey, bytes, purpose);
    }
    (void)madvise(mapped, bytes, MADV_HUGEPAGE);
    *memory = mapped;
    return ERROR_NONE;
}

static enum error_code make_multiples(struct load *load, struct par *par)
{
    struct multiples *multiples = &load->circuit.multiples;
    if (load->tables == MULTIPLES_NONE) {
        return ERROR_NONE;
    }
    *multiples = multiples_shape(&load->key, load->tables);
    load->multiples_bytes = multiples_size(&load->key, multiples);
    CHECK(load->multiples_bytes != SIZE_MAX);
    const size_t scratch_bytes = multiples_scratch_size(&load->key, multiples, par->workers);
    void *scratch = NULL;
    enum error_code code = map_memory(load, &load->multiples, load->multiples_bytes, "multiples of points");
    code = code != ERROR_NONE ? code : map_memory(load, &scratch, scratch_bytes, "scratch for multiples");
    if (code == ERROR_NONE) {
        multiples_init(multiples, &load->key, load->multiples, par, scratch);
        munmap(scratch, scratch_bytes);
    }
    return code;
}

static enum error_code make_tables(struct load *load, struct par *par)
{
    load->memory_bytes = circuit_memory_size(&load->key);
    enum error_code code = map_memory(load, &load->memory, load->memory_bytes, "tables");
    if (code != ERROR_NONE) {
        return code;
    }
    circuit_init(&load->circuit, &load->key, load->memory, par);
    return make_multiples(load, par);
}

static enum error_code make_verify_key(struct load *load)
{
    const struct zkey *key = &load->key;
    load->verifiable = load->verify_wanted && key->ic != NULL;
    if (!load->verifiable) {
        return ERROR_NONE;
    }
    const struct verify_parts parts = {.publics = key->publics,
                                       .alpha1 = key->alpha1,
                                       .beta2 = key->beta2,
                                       .gamma2 = key->gamma2,
                                       .delta2 = key->delta2,
                                       .ic = key->ic};
    return verify_key_init(&load->verify, &parts, load->config->zkey, &load->error);
}

/* A GPU may refuse: a run with GPUs has CPU lanes, too. */
static enum error_code attach(struct load *load)
{
    load->cpu_only = false;
    for (; load->attached < load->devices->count; ++load->attached) {
        struct device *device = load->devices->devices[load->attached];
        enum error_code code = device_attach(device, &load->circuit, &load->error);
        if (code == ERROR_DEVICE && device->kind == DEVICE_CUDA) {
            load->cpu_only = true;
            load->refusal = load->error;
        } else if (code != ERROR_NONE) {
            return code;
        }
    }
    return ERROR_NONE;
}

static enum error_code open_all(struct load *load, struct par *par)
{
    static const enum zkey_points points[] = {[CONFIG_CHECK_OFF] = ZKEY_POINTS_OFF,
                                              [CONFIG_CHECK_CURVE] = ZKEY_POINTS_CURVE,
                                              [CONFIG_CHECK_FULL] = ZKEY_POINTS_FULL};
    enum error_code code = take_identity(load);
    if (code == ERROR_NONE) {
        code = zkey_load(&load->key, load->config->zkey, par, &load->error);
        load->key_open = code == ERROR_NONE;
    }
    if (code == ERROR_NONE && load->look_code == ERROR_NONE &&
        (load->key.wires != load->sizes.wires || load->key.publics != load->sizes.publics ||
         load->key.domain_log2 != load->sizes.shape.key.domain_log2)) {
        code = error_set(&load->error, ERROR_INPUT, "%s: the file has changed since the run began",
                         load->config->zkey);
    }
    code = code != ERROR_NONE
               ? code
               : zkey_check_points(&load->key, points[load->config->check_points], par, &load->error);
    code = code != ERROR_NONE ? code : make_tables(load, par);
    code = code != ERROR_NONE ? code : make_verify_key(load);
    return code != ERROR_NONE ? code : attach(load);
}

void load_open(void *argument)
{
    struct load *load = argument;
    uint64_t begin_ns = loop_now_ns();
    CHECK(!load->key_open && load->memory == NULL && load->attached == 0);
    struct par *lent = load->team == NULL ? NULL : team_par_open(load->team);
    if (load->look_code !=
        ERROR_NONE) { /* sizes are unknown, so there is no slot that its witness would fit */
        load->code = load->look_code;
    } else {
        load->code = open_all(load, lent != NULL ? lent : &par_serial);
    }
    if (lent != NULL) {
        team_par_close(lent);
    }
    if (load->code != ERROR_NONE) {
        load_release(load);
    }
    load->took_ns = loop_now_ns() - begin_ns;
}

void load_release(void *argument)
{
    struct load *load = argument;
    while (load->attached > 0) {
        device_detach(load->devices->devices[--load->attached], &load->circuit);
    }
    if (load->memory != NULL) {
        munmap(load->memory, load->memory_bytes);
        load->memory = NULL;
    }
    if (load->multiples != NULL) {
        munmap(load->multiples, load->multiples_bytes);
        load->multiples = NULL;
    }
    if (load->key_open) {
        zkey_close(&load->key);
        load->key_open = false;
    }
}
