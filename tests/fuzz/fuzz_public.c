/* Fuzzes the reader of public.json: any bytes give values below r or an error with a message. */
#include "conf/check.h"
#include "coordinator/json_read.h"
#include "groth16/fr.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct json_public publics;
    struct error error = {0};
    if (json_parse_public(&publics, (const char *)data, size, "input", &error) != ERROR_NONE) {
        CHECK(error.code == ERROR_INPUT && error.text[0] != '\0');
        CHECK(publics.values == NULL && publics.count == 0);
        return 0;
    }
    CHECK((publics.values == NULL) == (publics.count == 0));
    for (uint32_t i = 0; i < publics.count; i++) {
        CHECK(u256_less(&publics.values[i], &fr_modulus));
    }
    json_public_free(&publics);
    return 0;
}
