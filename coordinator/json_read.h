/* json_read.h - reads the JSON files of a verification: key, proof and public values, as snarkjs shapes them.
 *
 * Each reader takes a path and fills the caller's struct or returns ERROR_INPUT (ERROR_SYSTEM if the file
 * can't be opened or read) with a message that names the file, the place in it (`vk_delta_2[1][0]`) and what
 * was expected. json_parse_X does the same for text in memory, of which name is the file's name in messages.
 * On error nothing is left to free. Files are hostile: at most JSON_READ_BYTES_MAX bytes, no key twice,
 * numbers only as decimal strings below their modulus, points with a last coordinate of "1", or "0" for
 * infinity. The protocol must be "groth16"; other protocols and curves are named in the message. Unknown
 * members are ignored, as snarkjs does. Whether points are on the curve is not looked at here:
 * verify_key_init and verify_proof do that.
 *
 * These functions allocate (through jansson), so they never run on the coordinator's thread after start.
 * Otherwise any thread may call them.
 *
 * Source of the format: what `snarkjs zkey export verificationkey` and `snarkjs groth16 prove` write (0.7.5).
 */
#ifndef COORDINATOR_JSON_READ_H
#define COORDINATOR_JSON_READ_H

#include "conf/error.h"
#include "groth16/proof.h"
#include "groth16/u256.h"
#include "groth16/verify.h"

#include <stddef.h>
#include <stdint.h>

#define JSON_READ_BYTES_MAX ((size_t)64 << 20)

/* verification_key.json. parts.ic points to memory that json_vkey_free frees; keep it as long as a verify_key
 * that was made of it is used. */
struct json_vkey {
    struct verify_parts parts;
    uint8_t *ic;
};

/* public.json: plain integers below r. */
struct json_public {
    u256 *values; /* NULL if there are none */
    uint32_t count;
};

enum error_code json_read_vkey(struct json_vkey *vkey, const char *path, struct error *error) ERROR_MUST_USE;
enum error_code json_read_proof(struct proof *proof, const char *path, struct error *error) ERROR_MUST_USE;
enum error_code json_read_public(struct json_public *publics, const char *path,
                                 struct error *error) ERROR_MUST_USE;

enum error_code json_parse_vkey(struct json_vkey *vkey, const char *text, size_t length, const char *name,
                                struct error *error) ERROR_MUST_USE;
enum error_code json_parse_proof(struct proof *proof, const char *text, size_t length, const char *name,
                                 struct error *error) ERROR_MUST_USE;
enum error_code json_parse_public(struct json_public *publics, const char *text, size_t length,
                                  const char *name, struct error *error) ERROR_MUST_USE;

/* Free what a successful read allocated, and clear the struct. */
void json_vkey_free(struct json_vkey *vkey);
void json_public_free(struct json_public *publics);

#endif
