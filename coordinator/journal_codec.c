#include "coordinator/journal_codec.h"

#include "conf/check.h"

#include <string.h>

enum { MAGIC_BYTES = 8, RECORD_HEAD_BYTES = 12, DONE_FIXED_BYTES = 60, KIND_DONE = 1, PAYLOAD_MAX = 65536 };

static const char magic[MAGIC_BYTES] = {'u', 'z', 'k', ' ', 'j', 'r', 'n', 'l'};

/* By half bytes: 64 bytes of table, fast enough for files of a kilobyte. */
static const uint32_t crc_table[16] = {
    0x00000000, 0x105ec76f, 0x20bd8ede, 0x30e349b1, 0x417b1dbc, 0x5125dad3, 0x61c69362, 0x7198540d,
    0x82f63b78, 0x92a8fc17, 0xa24bb5a6, 0xb21572c9, 0xc38d26c4, 0xd3d3e1ab, 0xe330a81a, 0xf36e6f75,
};

uint32_t journal_codec_crc(uint32_t crc, const void *bytes, size_t size)
{
    const uint8_t *at = bytes;
    crc = ~crc;
    for (size_t i = 0; i < size; i++) {
        crc ^= at[i];
        crc = crc >> 4 ^ crc_table[crc & 15];
        crc = crc >> 4 ^ crc_table[crc & 15];
    }
    return ~crc;
}

static void store(uint8_t *bytes, uint64_t value, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        bytes[i] = (uint8_t)(value >> 8 * i);
    }
}

static uint64_t load(const uint8_t *bytes, size_t size)
{
    uint64_t value = 0;
    for (size_t i = 0; i < size; i++) {
        value |= (uint64_t)bytes[i] << 8 * i;
    }
    return value;
}

static bool is_name(const char *text, size_t length, bool slash)
{
    if (length == 0 || length > JOURNAL_CODEC_NAME_MAX) {
        return false;
    }
    for (size_t i = 0; i < length; i++) {
        if (text[i] == 0 || (text[i] == '/' && !slash)) {
            return false;
        }
    }
    return true;
}

static bool is_done(const struct journal_codec_done *done)
{
    return is_name(done->job, done->job_length, true) && is_name(done->stem, done->stem_length, false);
}

void journal_codec_header(uint8_t header[JOURNAL_CODEC_HEADER_BYTES])
{
    memcpy(header, magic, MAGIC_BYTES);
    store(header + MAGIC_BYTES, JOURNAL_CODEC_VERSION, 4);
    store(header + MAGIC_BYTES + 4, journal_codec_crc(0, header, MAGIC_BYTES + 4), 4);
}

static uint32_t record_crc(const uint8_t *record, size_t payload)
{
    uint32_t crc = journal_codec_crc(0, record, 8);
    return journal_codec_crc(crc, record + RECORD_HEAD_BYTES, payload);
}

size_t journal_codec_encode(uint8_t record[JOURNAL_CODEC_RECORD_MAX], const struct journal_codec_done *done)
{
    if (!is_done(done)) {
        return 0;
    }
    size_t payload = DONE_FIXED_BYTES + done->job_length + done->stem_length;
    CHECK(RECORD_HEAD_BYTES + payload <= JOURNAL_CODEC_RECORD_MAX);
    store(record, payload, 4);
    store(record + 4, KIND_DONE, 4);
    uint8_t *at = record + RECORD_HEAD_BYTES;
    store(at, done->input_size, 8);
    store(at + 8, (uint64_t)done->input_mtime_ns, 8);
    store(at + 16, done->key_size, 8);
    store(at + 24, (uint64_t)done->key_mtime_ns, 8);
    store(at + 32, done->proof_size, 8);
    store(at + 40, done->public_size, 8);
    store(at + 48, done->proof_crc, 4);
    store(at + 52, done->public_crc, 4);
    store(at + 56, done->job_length, 2);
    store(at + 58, done->stem_length, 2);
    memcpy(at + DONE_FIXED_BYTES, done->job, done->job_length);
    memcpy(at + DONE_FIXED_BYTES + done->job_length, done->stem, done->stem_length);
    store(record + 8, record_crc(record, payload), 4);
    return RECORD_HEAD_BYTES + payload;
}

static bool decode_done(struct journal_codec_done *done, const uint8_t *payload, size_t size)
{
    if (size < DONE_FIXED_BYTES) {
        return false;
    }
    done->input_size = load(payload, 8);
    done->input_mtime_ns = (int64_t)load(payload + 8, 8);
    done->key_size = load(payload + 16, 8);
    done->key_mtime_ns = (int64_t)load(payload + 24, 8);
    done->proof_size = load(payload + 32, 8);
    done->public_size = load(payload + 40, 8);
    done->proof_crc = (uint32_t)load(payload + 48, 4);
    done->public_crc = (uint32_t)load(payload + 52, 4);
    done->job_length = load(payload + 56, 2);
    done->stem_length = load(payload + 58, 2);
    if (size - DONE_FIXED_BYTES != done->job_length + done->stem_length) {
        return false;
    }
    done->job = (const char *)payload + DONE_FIXED_BYTES;
    done->stem = done->job + done->job_length;
    return is_done(done);
}

/* What a loss of power leaves of a header that was not synced: parts of it, and zeros for those bytes that
 * the file has room for and the disk never got. */
static bool is_unfinished(const uint8_t *bytes, size_t size)
{
    bool unfinished = size <= JOURNAL_CODEC_HEADER_BYTES;
    for (size_t i = 0; unfinished && i < size && i < MAGIC_BYTES; i++) {
        unfinished = bytes[i] == 0 || bytes[i] == (uint8_t)magic[i];
    }
    return unfinished;
}

enum journal_codec_status journal_codec_open(struct journal_codec_reader *reader, const void *bytes,
                                             size_t size)
{
    reader->bytes = bytes;
    reader->size = size;
    reader->valid = 0;
    reader->version = 0;
    if (size == 0) {
        return JOURNAL_CODEC_END;
    }
    size_t compared = size < MAGIC_BYTES ? size : (size_t)MAGIC_BYTES;
    if (memcmp(bytes, magic, compared) != 0) {
        return is_unfinished(bytes, size) ? JOURNAL_CODEC_TORN : JOURNAL_CODEC_FOREIGN;
    }
    if (size < JOURNAL_CODEC_HEADER_BYTES ||
        load(reader->bytes + MAGIC_BYTES + 4, 4) != journal_codec_crc(0, bytes, MAGIC_BYTES + 4)) {
        return JOURNAL_CODEC_TORN;
    }
    reader->version = (uint32_t)load(reader->bytes + MAGIC_BYTES, 4);
    if (reader->version != JOURNAL_CODEC_VERSION) {
        return JOURNAL_CODEC_VERSIONED;
    }
    reader->valid = JOURNAL_CODEC_HEADER_BYTES;
    return JOURNAL_CODEC_RECORD;
}

enum journal_codec_status journal_codec_next(struct journal_codec_reader *reader,
                                             struct journal_codec_done *done)
{
    CHECK(reader->valid >= JOURNAL_CODEC_HEADER_BYTES && reader->valid <= reader->size);
    for (;;) {
        const uint8_t *record = reader->bytes + reader->valid;
        size_t left = reader->size - reader->valid;
        if (left == 0) {
            return JOURNAL_CODEC_END;
        }
        if (left < RECORD_HEAD_BYTES) {
            return JOURNAL_CODEC_TORN;
        }
        size_t payload = load(record, 4);
        if (payload > PAYLOAD_MAX || payload > left - RECORD_HEAD_BYTES ||
            load(record + 8, 4) != record_crc(record, payload)) {
            return JOURNAL_CODEC_TORN;
        }
        bool known = load(record + 4, 4) == KIND_DONE;
        if (known && !decode_done(done, record + RECORD_HEAD_BYTES, payload)) {
            return JOURNAL_CODEC_TORN;
        }
        reader->valid += RECORD_HEAD_BYTES + payload;
        if (known) {
            return JOURNAL_CODEC_RECORD;
        }
    }
}
