/* journal_codec.h - the bytes of a journal: which proofs an output folder already holds.
 *
 * A journal is a header and then records, appended one behind the other and never changed. All numbers are
 * little-endian.
 *
 *   header   magic "uzk jrnl" (8 bytes), version (4), CRC-32C of these 12 bytes (4)
 *   record   payload length (4), kind (4), CRC-32C of length, kind and payload (4), payload
 *   DONE     input size, input mtime in ns, key size, key mtime in ns, proof size, public size (8 each),
 * CRC-32C of the proof file and of the public file (4 each), length of the job's name (2), of the stem (2),
 * both texts
 *
 * A run that is killed while it appends leaves a torn record at the end; a disk that loses power may leave
 * any bytes. The reader stops at the first record that is not whole and right, and says how many bytes before
 * it are: the caller cuts the file there. Records of a kind that this version does not know are skipped. A
 * journal is hostile input: every length is checked before it is used, and names that could leave the folder
 * are refused.
 *
 * Pure functions on the caller's memory, for any thread; linear in the bytes. CRC-32C is that of RFC 3720,
 * appendix B.4 (Castagnoli's polynomial, reflected, inverted at both ends). */
#ifndef COORDINATOR_JOURNAL_CODEC_H
#define COORDINATOR_JOURNAL_CODEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    JOURNAL_CODEC_HEADER_BYTES = 16,
    JOURNAL_CODEC_NAME_MAX = 255, /* bytes of a job's name or a stem */
    JOURNAL_CODEC_RECORD_MAX = 12 + 60 + 2 * JOURNAL_CODEC_NAME_MAX,
    JOURNAL_CODEC_VERSION = 1
};

/* One partition whose files are durable. Texts are not terminated. */
struct journal_codec_done {
    const char *job; /* 1 to JOURNAL_CODEC_NAME_MAX bytes, no zero byte */
    size_t job_length;
    const char *stem; /* likewise, and no slash */
    size_t stem_length;
    uint64_t input_size; /* witness or generator input, as it was when it was read */
    int64_t input_mtime_ns;
    uint64_t key_size;
    int64_t key_mtime_ns;
    uint64_t proof_size;
    uint64_t public_size;
    uint32_t proof_crc; /* journal_codec_crc of the file */
    uint32_t public_crc;
};

enum journal_codec_status {
    JOURNAL_CODEC_RECORD,   /* *done is filled in */
    JOURNAL_CODEC_END,      /* nothing is left, and nothing was wrong */
    JOURNAL_CODEC_TORN,     /* what follows is cut off or damaged */
    JOURNAL_CODEC_FOREIGN,  /* not a journal */
    JOURNAL_CODEC_VERSIONED /* a journal of another version */
};

struct journal_codec_reader {
    const uint8_t *bytes;
    size_t size;
    size_t valid;     /* bytes from the start that are whole and right; what comes behind is to be cut off */
    uint32_t version; /* of the file */
};

/* CRC-32C of what came before (0 at first) and these bytes. */
uint32_t journal_codec_crc(uint32_t crc, const void *bytes, size_t size);

void journal_codec_header(uint8_t header[JOURNAL_CODEC_HEADER_BYTES]);

/* Writes a DONE record and returns its length; 0 if a name is empty, too long or holds a forbidden byte. */
size_t journal_codec_encode(uint8_t record[JOURNAL_CODEC_RECORD_MAX], const struct journal_codec_done *done);

/* Reads the header. JOURNAL_CODEC_RECORD: go on with journal_codec_next. JOURNAL_CODEC_END: an empty file.
 * JOURNAL_CODEC_TORN: only a beginning of a header, or a damaged one (valid is 0). */
enum journal_codec_status journal_codec_open(struct journal_codec_reader *reader, const void *bytes,
                                             size_t size);

/* The next DONE record: RECORD, END or TORN. The texts in *done lie in the reader's bytes. */
enum journal_codec_status journal_codec_next(struct journal_codec_reader *reader,
                                             struct journal_codec_done *done);

#endif
