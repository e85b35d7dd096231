/* Fuzzes the journal reader: any bytes are read to the end or refused, `valid` never runs backwards or past
 * the end, and every record that was accepted is written again to the very same bytes. */
#include "conf/check.h"
#include "coordinator/journal_codec.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct journal_codec_reader reader;
    if (journal_codec_open(&reader, data, size) != JOURNAL_CODEC_RECORD) {
        CHECK(reader.valid == 0);
        return 0;
    }
    struct journal_codec_done done;
    size_t before = reader.valid;
    while (journal_codec_next(&reader, &done) == JOURNAL_CODEC_RECORD) {
        CHECK(reader.valid > before && reader.valid <= size);
        uint8_t record[JOURNAL_CODEC_RECORD_MAX];
        size_t length = journal_codec_encode(record, &done);
        CHECK(length > 0 && length <= reader.valid - before);
        CHECK(memcmp(record, data + reader.valid - length, length) == 0);
        before = reader.valid;
    }
    return 0;
}
