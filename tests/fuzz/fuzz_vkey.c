/* Fuzzes the reader of verification_key.json: any bytes give a key whose points load, or an error with a
 * message. Keys that are read are then checked, and used on a proof of generators, whatever its verdict. */
#include "conf/check.h"
#include "coordinator/json_read.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void use(const struct json_vkey *vkey)
{
    static struct verify_key key; /* larger than a fuzzer's stack likes */
    struct error error = {0};
    const struct proof proof = {.a = g1_generator, .b = g2_generator, .c = g1_generator};
    if (verify_key_init(&key, &vkey->parts, "input", &error) != ERROR_NONE) {
        CHECK(error.text[0] != '\0');
        return;
    }
    u256 *publics = calloc((size_t)key.publics + 1, sizeof *publics);
    CHECK(publics != NULL);
    CHECK(verify_proof(&key, publics, &proof) < VERIFY_RESULTS);
    free(publics);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct json_vkey vkey;
    struct error error = {0};
    if (json_parse_vkey(&vkey, (const char *)data, size, "input", &error) != ERROR_NONE) {
        CHECK(error.code == ERROR_INPUT && error.text[0] != '\0');
        CHECK(vkey.ic == NULL);
        return 0;
    }
    for (size_t i = 0; i <= vkey.parts.publics; i++) {
        g1_affine point;
        CHECK(g1_affine_load(&point, vkey.ic + i * G1_BYTES));
    }
    use(&vkey);
    json_vkey_free(&vkey);
    return 0;
}
