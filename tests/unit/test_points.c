#include "fixture.h"
#include "groth16/fq.h"
#include "groth16/g1.h"
#include "groth16/g2.h"
#include "groth16/points.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Points that snarkjs wrote, behind an odd byte, so that nothing relies on alignment. */
enum { COUNT = 43 };

struct group {
    size_t section, item;
    bool (*all)(const uint8_t *bytes, size_t count);
    bool (*one)(const uint8_t *bytes);
};

static bool one_g1(const uint8_t *bytes)
{
    g1_affine point;
    return g1_affine_load(&point, bytes) && g1_affine_on_curve(&point);
}

static bool one_g2(const uint8_t *bytes)
{
    g2_affine point;
    return g2_affine_load(&point, bytes) && g2_affine_on_curve(&point);
}

static const struct group groups[] = {{5, G1_BYTES, points_g1_good, one_g1},
                                      {7, G2_BYTES, points_g2_good, one_g2}};

static uint8_t *points_of(const struct group *group, uint8_t **block)
{
    struct fixture_file file = fixture_read("circuit-small/circuit.zkey");
    *block = malloc(1 + COUNT * group->item);
    assert_non_null(*block);
    memcpy(*block + 1, file.bytes + fixture_section(&file, (unsigned)group->section), COUNT * group->item);
    free(file.bytes);
    return *block + 1;
}

static void add_modulus(uint8_t *coordinate)
{
    unsigned carry = 0;
    for (size_t i = 0; i < 32; i++) {
        carry += coordinate[i] + (unsigned)((const uint8_t *)&fq_modulus)[i];
        coordinate[i] = (uint8_t)carry;
        carry >>= 8;
    }
}

enum { WAYS = 7 };

/* Changes a point in one of the ways, of which some leave it good. */
static void change(uint8_t *point, size_t item, size_t coordinate, int way)
{
    uint8_t *at = point + coordinate * 32;
    switch (way) {
    case 0:
        at[0] ^= 1;
        break;
    case 1:
        at[31] ^= 0x20;
        break;
    case 2:
        add_modulus(at); /* the same point, not as it must be written */
        break;
    case 3:
        memset(at, 0xff, 32);
        break;
    case 4:
        memset(at, 0, 32);
        break;
    case 5:
        memset(point, 0, item); /* infinity */
        break;
    default:
        memset(point, 0, item);
        add_modulus(at); /* infinity with one coordinate p */
        break;
    }
}

static void good_points_are_good_in_any_number(void **state)
{
    (void)state;
    for (size_t g = 0; g < 2; g++) {
        uint8_t *block, *points = points_of(&groups[g], &block);
        for (size_t count = 0; count <= COUNT; count++) {
            assert_true(groups[g].all(points, count));
        }
        free(block);
    }
}

/* Each place, coordinate and way: the verdict is the single point's. */
static void one_bad_point_is_seen_anywhere(void **state)
{
    (void)state;
    for (size_t g = 0; g < 2; g++) {
        const struct group *group = &groups[g];
        uint8_t *block, *points = points_of(group, &block);
        unsigned verdicts[2] = {0};
        for (size_t place = 0; place < COUNT; place++) {
            for (size_t i = 0; i < group->item / 32 * WAYS; i++) {
                uint8_t *point = points + place * group->item, kept[G2_BYTES];
                memcpy(kept, point, group->item);
                change(point, group->item, i / WAYS, (int)(i % WAYS));
                const bool good = group->one(point);
                verdicts[good]++;
                assert_int_equal(group->all(points, COUNT), good);
                assert_int_equal(group->all(points, place + 1), good);
                assert_true(group->all(points, place));
                memcpy(point, kept, group->item);
            }
        }
        assert_true(verdicts[true] >= COUNT && verdicts[false] >= 5 * COUNT);
        free(block);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(good_points_are_good_in_any_number),
        cmocka_unit_test(one_bad_point_is_seen_anywhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
