/* Fuzzes the reader of proof.json: any bytes give a proof or an error with a message. A proof that is read
 * comes back the same through our writer. */
#include "conf/check.h"
#include "coordinator/json_read.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct proof proof, again;
    struct error error = {0};
    if (json_parse_proof(&proof, (const char *)data, size, "input", &error) != ERROR_NONE) {
        CHECK(error.code == ERROR_INPUT && error.text[0] != '\0');
        return 0;
    }
    char text[PROOF_JSON_BYTES];
    size_t length = proof_write_json(text, sizeof text, &proof);
    CHECK(json_parse_proof(&again, text, length, "written", &error) == ERROR_NONE);
    CHECK(g1_affine_equal(&proof.a, &again.a));
    CHECK(g2_affine_equal(&proof.b, &again.b));
    CHECK(g1_affine_equal(&proof.c, &again.c));
    return 0;
}
