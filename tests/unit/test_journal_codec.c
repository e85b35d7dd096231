#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "coordinator/journal_codec.h"

#include <stdlib.h>
#include <string.h>

/* CRC-32C: the vectors of RFC 3720, appendix B.4, and the usual check value of the nine digits. */
static void test_crc_vectors(void **state)
{
    (void)state;
    uint8_t bytes[32];
    assert_int_equal(journal_codec_crc(0, "123456789", 9), 0xe3069283);
    memset(bytes, 0, sizeof bytes);
    assert_int_equal(journal_codec_crc(0, bytes, sizeof bytes), 0x8a9136aa);
    memset(bytes, 0xff, sizeof bytes);
    assert_int_equal(journal_codec_crc(0, bytes, sizeof bytes), 0x62a8ab43);
    for (unsigned i = 0; i < 32; i++) {
        bytes[i] = (uint8_t)i;
    }
    assert_int_equal(journal_codec_crc(0, bytes, sizeof bytes), 0x46dd794e);
    uint32_t parts = journal_codec_crc(journal_codec_crc(0, bytes, 5), bytes + 5, 27);
    assert_int_equal(parts, 0x46dd794e);
    assert_int_equal(journal_codec_crc(0, NULL, 0), 0);
}

static struct journal_codec_done sample(const char *job, const char *stem)
{
    return (struct journal_codec_done){.job = job,
                                       .job_length = strlen(job),
                                       .stem = stem,
                                       .stem_length = strlen(stem),
                                       .input_size = UINT64_C(0x0102030405060708),
                                       .input_mtime_ns = -5,
                                       .key_size = 7,
                                       .key_mtime_ns = INT64_MAX,
                                       .proof_size = 710,
                                       .public_size = 3,
                                       .proof_crc = 0xdeadbeef,
                                       .public_crc = 1};
}

/* A journal with a header and three records; *ends gets the offset behind each. */
static size_t build(uint8_t *bytes, size_t ends[3])
{
    static const char *const stems[3] = {"witness-000", "witness-001", "x"};
    journal_codec_header(bytes);
    size_t size = JOURNAL_CODEC_HEADER_BYTES;
    for (unsigned i = 0; i < 3; i++) {
        struct journal_codec_done done = sample("votes", stems[i]);
        size_t length = journal_codec_encode(bytes + size, &done);
        assert_int_equal(length, 12 + 60 + 5 + strlen(stems[i]));
        size += length;
        ends[i] = size;
    }
    return size;
}

static unsigned read_all(struct journal_codec_reader *reader, enum journal_codec_status *last)
{
    struct journal_codec_done done;
    unsigned records = 0;
    while ((*last = journal_codec_next(reader, &done)) == JOURNAL_CODEC_RECORD) {
        records++;
    }
    return records;
}

static void test_round_trip(void **state)
{
    (void)state;
    uint8_t bytes[4 * JOURNAL_CODEC_RECORD_MAX];
    size_t ends[3];
    size_t size = build(bytes, ends);
    struct journal_codec_reader reader;
    struct journal_codec_done done;
    assert_int_equal(journal_codec_open(&reader, bytes, size), JOURNAL_CODEC_RECORD);
    assert_int_equal(journal_codec_next(&reader, &done), JOURNAL_CODEC_RECORD);
    struct journal_codec_done expected = sample("votes", "witness-000");
    assert_int_equal(done.job_length, 5);
    assert_memory_equal(done.job, "votes", 5);
    assert_int_equal(done.stem_length, 11);
    assert_memory_equal(done.stem, "witness-000", 11);
    assert_true(done.input_size == expected.input_size && done.input_mtime_ns == -5);
    assert_true(done.key_size == 7 && done.key_mtime_ns == INT64_MAX);
    assert_true(done.proof_size == 710 && done.public_size == 3);
    assert_true(done.proof_crc == 0xdeadbeef && done.public_crc == 1);
    assert_int_equal(reader.valid, ends[0]);
    enum journal_codec_status last;
    assert_int_equal(read_all(&reader, &last), 2);
    assert_int_equal(last, JOURNAL_CODEC_END);
    assert_int_equal(reader.valid, size);
}

/* Numbers are little-endian and where the header comment says. */
static void test_layout(void **state)
{
    (void)state;
    uint8_t record[JOURNAL_CODEC_RECORD_MAX], header[JOURNAL_CODEC_HEADER_BYTES];
    struct journal_codec_done done = sample("j", "stem");
    size_t length = journal_codec_encode(record, &done);
    const uint8_t head[8] = {65, 0, 0, 0, 1, 0, 0, 0};
    assert_memory_equal(record, head, sizeof head);
    const uint8_t input[8] = {8, 7, 6, 5, 4, 3, 2, 1};
    assert_memory_equal(record + 12, input, sizeof input);
    const uint8_t tail[9] = {1, 0, 4, 0, 'j', 's', 't', 'e', 'm'};
    assert_memory_equal(record + length - 9, tail, sizeof tail);
    journal_codec_header(header);
    assert_memory_equal(header, "uzk jrnl\1\0\0\0", 12);
}

/* Cut anywhere, the reader finds the whole records before the cut, and says where they end. */
static void test_every_torn_tail(void **state)
{
    (void)state;
    uint8_t bytes[4 * JOURNAL_CODEC_RECORD_MAX];
    size_t ends[3];
    size_t size = build(bytes, ends);
    for (size_t cut = 0; cut <= size; cut++) {
        uint8_t *exact = malloc(cut + 1); /* so that a sanitizer sees a read behind the cut */
        assert_non_null(exact);
        memcpy(exact, bytes, cut);
        uint8_t *shrunk = realloc(exact, cut == 0 ? 1 : cut);
        assert_non_null(shrunk);
        exact = shrunk;
        struct journal_codec_reader reader;
        enum journal_codec_status status = journal_codec_open(&reader, exact, cut);
        if (cut == 0) {
            assert_int_equal(status, JOURNAL_CODEC_END);
        } else if (cut < JOURNAL_CODEC_HEADER_BYTES) {
            assert_int_equal(status, JOURNAL_CODEC_TORN);
            assert_int_equal(reader.valid, 0);
        } else {
            enum journal_codec_status last;
            unsigned whole = (cut >= ends[0]) + (cut >= ends[1]) + (cut >= ends[2]);
            size_t valid = whole == 0 ? (size_t)JOURNAL_CODEC_HEADER_BYTES : ends[whole - 1];
            assert_int_equal(status, JOURNAL_CODEC_RECORD);
            assert_int_equal(read_all(&reader, &last), whole);
            assert_int_equal(reader.valid, valid);
            assert_int_equal(last, cut == valid ? JOURNAL_CODEC_END : JOURNAL_CODEC_TORN);
        }
        free(exact);
    }
}

/* Any single bit that flips in a record ends the journal before that record. */
static void test_every_flipped_bit(void **state)
{
    (void)state;
    uint8_t bytes[4 * JOURNAL_CODEC_RECORD_MAX];
    size_t ends[3];
    size_t size = build(bytes, ends);
    for (size_t bit = ends[0] * 8; bit < ends[1] * 8; bit++) {
        bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
        struct journal_codec_reader reader;
        enum journal_codec_status last;
        assert_int_equal(journal_codec_open(&reader, bytes, size), JOURNAL_CODEC_RECORD);
        assert_int_equal(read_all(&reader, &last), 1);
        assert_int_equal(last, JOURNAL_CODEC_TORN);
        assert_int_equal(reader.valid, ends[0]);
        bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
}

static void store_le32(uint8_t *at, uint32_t value)
{
    for (unsigned i = 0; i < 4; i++) {
        at[i] = (uint8_t)(value >> 8 * i);
    }
}

/* Makes the checksum of the record at bytes right, whatever its content. */
static void seal(uint8_t *record, size_t payload)
{
    store_le32(record + 8, journal_codec_crc(journal_codec_crc(0, record, 8), record + 12, payload));
}

static void expect_refused(uint8_t *bytes, size_t size)
{
    struct journal_codec_reader reader;
    enum journal_codec_status last;
    assert_int_equal(journal_codec_open(&reader, bytes, size), JOURNAL_CODEC_RECORD);
    assert_int_equal(read_all(&reader, &last), 0);
    assert_int_equal(last, JOURNAL_CODEC_TORN);
    assert_int_equal(reader.valid, JOURNAL_CODEC_HEADER_BYTES);
}

/* Lengths and names that lie are refused even under a right checksum. */
static void test_hostile_records(void **state)
{
    (void)state;
    uint8_t bytes[JOURNAL_CODEC_HEADER_BYTES + JOURNAL_CODEC_RECORD_MAX];
    uint8_t *record = bytes + JOURNAL_CODEC_HEADER_BYTES;
    struct journal_codec_done done = sample("job", "stem");
    journal_codec_header(bytes);
    size_t payload = journal_codec_encode(record, &done) - 12;
    size_t size = JOURNAL_CODEC_HEADER_BYTES + 12 + payload;

    record[12 + 56] = 200; /* the job's name is longer than the record */
    seal(record, payload);
    expect_refused(bytes, size);
    record[12 + 56] = 0; /* or empty, and the stem takes all */
    record[12 + 58] = 7;
    seal(record, payload);
    expect_refused(bytes, size);
    journal_codec_encode(record, &done);
    record[12 + 60 + 4] = '/';
    seal(record, payload);
    expect_refused(bytes, size);
    record[12 + 60 + 4] = 0;
    seal(record, payload);
    expect_refused(bytes, size);
    journal_codec_encode(record, &done);
    store_le32(record, 59); /* shorter than the fixed part */
    seal(record, 59);
    expect_refused(bytes, JOURNAL_CODEC_HEADER_BYTES + 12 + 59);
    store_le32(record, UINT32_MAX);
    expect_refused(bytes, size);
}

static void test_unknown_kinds_are_skipped(void **state)
{
    (void)state;
    uint8_t bytes[JOURNAL_CODEC_HEADER_BYTES + 16 + JOURNAL_CODEC_RECORD_MAX] = {0};
    journal_codec_header(bytes);
    uint8_t *record = bytes + JOURNAL_CODEC_HEADER_BYTES;
    store_le32(record, 4);
    store_le32(record + 4, 77);
    seal(record, 4);
    struct journal_codec_done done = sample("job", "stem");
    size_t size = JOURNAL_CODEC_HEADER_BYTES + 16 + journal_codec_encode(record + 16, &done);
    struct journal_codec_reader reader;
    enum journal_codec_status last;
    assert_int_equal(journal_codec_open(&reader, bytes, size), JOURNAL_CODEC_RECORD);
    assert_int_equal(read_all(&reader, &last), 1);
    assert_int_equal(last, JOURNAL_CODEC_END);
    assert_int_equal(reader.valid, size);
}

static void test_foreign_files(void **state)
{
    (void)state;
    uint8_t bytes[JOURNAL_CODEC_HEADER_BYTES];
    struct journal_codec_reader reader;
    assert_int_equal(journal_codec_open(&reader, "zkey\1\0\0\0\12\0\0\0....", 16), JOURNAL_CODEC_FOREIGN);
    assert_int_equal(journal_codec_open(&reader, "z", 1), JOURNAL_CODEC_FOREIGN);
    journal_codec_header(bytes);
    bytes[8] = 2;
    assert_int_equal(journal_codec_open(&reader, bytes, sizeof bytes), JOURNAL_CODEC_TORN);
    store_le32(bytes + 12, journal_codec_crc(0, bytes, 12));
    assert_int_equal(journal_codec_open(&reader, bytes, sizeof bytes), JOURNAL_CODEC_VERSIONED);
    assert_int_equal(reader.version, 2);
}

/* A new journal whose header was under way when the power went: the length is there, some bytes are not. */
static void test_unfinished_headers(void **state)
{
    (void)state;
    uint8_t bytes[JOURNAL_CODEC_HEADER_BYTES + 1] = {0};
    struct journal_codec_reader reader;
    for (size_t size = 1; size <= JOURNAL_CODEC_HEADER_BYTES; size++) {
        assert_int_equal(journal_codec_open(&reader, bytes, size), JOURNAL_CODEC_TORN);
        assert_int_equal(reader.valid, 0);
    }
    memcpy(bytes, "uzk j", 5);
    assert_int_equal(journal_codec_open(&reader, bytes, JOURNAL_CODEC_HEADER_BYTES), JOURNAL_CODEC_TORN);
    assert_int_equal(journal_codec_open(&reader, bytes, sizeof bytes), JOURNAL_CODEC_FOREIGN); /* longer */
    bytes[7] = 'L';
    assert_int_equal(journal_codec_open(&reader, bytes, JOURNAL_CODEC_HEADER_BYTES), JOURNAL_CODEC_FOREIGN);
}

static void test_names_that_cannot_be_written(void **state)
{
    (void)state;
    uint8_t record[JOURNAL_CODEC_RECORD_MAX];
    char longest[257];
    memset(longest, 'a', 256);
    longest[256] = 0;
    struct journal_codec_done done = sample(longest, "stem");
    assert_int_equal(journal_codec_encode(record, &done), 0);
    done = sample("", "stem");
    assert_int_equal(journal_codec_encode(record, &done), 0);
    done = sample("job", "a/b");
    assert_int_equal(journal_codec_encode(record, &done), 0);
    done = sample(longest + 1, longest + 1);
    assert_int_equal(journal_codec_encode(record, &done), JOURNAL_CODEC_RECORD_MAX);
    done = sample("a/b", "stem"); /* a job's name is only a name */
    assert_int_not_equal(journal_codec_encode(record, &done), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_crc_vectors),
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_layout),
        cmocka_unit_test(test_every_torn_tail),
        cmocka_unit_test(test_every_flipped_bit),
        cmocka_unit_test(test_hostile_records),
        cmocka_unit_test(test_unknown_kinds_are_skipped),
        cmocka_unit_test(test_foreign_files),
        cmocka_unit_test(test_unfinished_headers),
        cmocka_unit_test(test_names_that_cannot_be_written),
    };
    return cmocka_run_group_tests_name("journal_codec", tests, NULL, NULL);
}
