/* Vectors: ffjavascript 0.3.1 (ifft, batchApplyKey with the 2n-th root of unity, fft), printed by
 * make_prove_vectors.mjs. */
#include "groth16/ntt.h"

#include "tests/unit/fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

/* v_0 = 5, v_(i+1) = v_i^2 + 3. */
static void fill(fr *values, size_t n)
{
    fr three;
    u256 plain = {{3, 0, 0, 0}};
    assert_true(fr_from_u256(&three, &plain));
    plain.w[0] = 5;
    assert_true(fr_from_u256(&values[0], &plain));
    for (size_t i = 1; i < n; i++) {
        fr_sqr(&values[i], &values[i - 1]);
        fr_add(&values[i], &values[i], &three);
    }
}

static void assert_decimal(const fr *value, const char *expected)
{
    u256 plain;
    char text[U256_DECIMAL_BYTES];
    fr_to_u256(&plain, value);
    u256_to_decimal(text, &plain);
    assert_string_equal(text, expected);
}

static void fingerprint(fr *result, const fr *values, size_t n)
{
    fr point;
    u256 plain = {{UINT64_C(12345678901234567890), 0, 0, 0}};
    assert_true(fr_from_u256(&point, &plain));
    *result = fr_zero;
    for (size_t i = n; i-- > 0;) {
        fr_mul(result, result, &point);
        fr_add(result, result, &values[i]);
    }
}

static fr *transform(unsigned log2, struct par *par)
{
    size_t n = (size_t)1 << log2;
    struct ntt ntt;
    void *table = fixture_block(ntt_table_size(log2));
    void *scratch = fixture_block(ntt_scratch_size(par->workers));
    fr *values = fixture_block(n * sizeof(fr));
    ntt_init(&ntt, log2, table, par);
    fill(values, n);
    ntt_to_coset(&ntt, values, par, scratch);
    free(scratch);
    free(table);
    return values;
}

static void matches_ffjavascript(void **state)
{
    (void)state;
    static const struct {
        unsigned log2;
        const char *fingerprint;
    } vectors[] = {
        {0, "5"},
        {1, "8943108688437947947256857529692667649974381856493478443414238680538072051792"},
        {2, "12786368140347343912816879096784437685290846739819443330421486614555312695569"},
        {3, "14999617355258046329390148597904769660428131069145187996869160746335050831715"},
        {5, "1859660496597468248125332958418423143213211728354312062910465022249139589254"},
        {9, "4466657414203631653103120987735009021797419683151944838224243212200299401928"},
        {10, "2303435943045518825822969698804687195889914029928839747267517902597674942444"},
        {13, "19205959790217992095954798910869769720025881181340489154748235970114392022713"},
        {14, "21247233400729947774661039143506158290215010748806310778176247130987886155885"},
        {17, "1098109981742020912465186211800496352322177809629790294962822844398788301985"},
        {19, "18445580341698805811266644072894836385127649293070818026880953001832378513120"},
    };
    for (size_t i = 0; i < sizeof vectors / sizeof vectors[0]; i++) {
        fr *values = transform(vectors[i].log2, &fixture_threads);
        fr print;
        fingerprint(&print, values, (size_t)1 << vectors[i].log2);
        assert_decimal(&print, vectors[i].fingerprint);
        free(values);
    }
}

static void every_value_of_eight(void **state)
{
    (void)state;
    static const char *const expected[] = {
        "9378271852916643966721045785755264317510356603191284068257674569810488254323",
        "7853254496142298398611526512884151673272949996739862710854553361945853535203",
        "3117779270739989983181810945743438170371423843169471607957242976546235530927",
        "10660677023082854715820171418516938216943482036509963369685155295250544910890",
        "7271081239327849878974462127275223840369110636998298234177402809238449330091",
        "6271834580921970055200566198767554452688057781730314158756172662147516793988",
        "6990374315167415650672141404466652770755424229124888915520536779947486911321",
        "8832805414339150208349031170438447137558423727760444054879968901791619343839",
    };
    fr *values = transform(3, &par_serial);
    for (size_t i = 0; i < 8; i++) {
        assert_decimal(&values[i], expected[i]);
    }
    free(values);
}

/* Every split into passes gives what one worker gives; sizes between the vectors' come with it. */
static void threads_change_nothing(void **state)
{
    (void)state;
    for (unsigned log2 = 0; log2 <= 16; log2++) {
        fr *serial = transform(log2, &par_serial);
        fr *threaded = transform(log2, &fixture_threads);
        assert_memory_equal(serial, threaded, sizeof(fr) << log2);
        free(serial);
        free(threaded);
    }
}

/* A primitive root of unity of order 2^log2: 5^((r - 1) / 2^log2). */
static void root_of_unity(fr *root, unsigned log2)
{
    u256 five = {{5, 0, 0, 0}}, exponent;
    for (int i = 0; i < 4; i++) {
        exponent.w[i] = fr_modulus.w[i] >> log2 | (i < 3 ? fr_modulus.w[i + 1] << (64 - log2) : 0);
    }
    assert_true(fr_from_u256(root, &five));
    fr_pow(root, root, &exponent);
}

/* A polynomial of degree 0 has the same value everywhere; x itself has the coset's points as values. */
static void known_polynomials(void **state)
{
    (void)state;
    for (unsigned log2 = 1; log2 <= 14; log2++) {
        size_t n = (size_t)1 << log2;
        struct ntt ntt;
        void *table = fixture_block(ntt_table_size(log2));
        void *scratch = fixture_block(ntt_scratch_size(FIXTURE_WORKERS));
        fr *values = fixture_block(n * sizeof(fr));
        ntt_init(&ntt, log2, table, &fixture_threads);
        fr seven, root, power = fr_one;
        u256 plain = {{7, 0, 0, 0}};
        assert_true(fr_from_u256(&seven, &plain));
        for (size_t i = 0; i < n; i++) {
            values[i] = seven;
        }
        ntt_to_coset(&ntt, values, &fixture_threads, scratch);
        for (size_t i = 0; i < n; i++) {
            assert_true(fr_equal(&values[i], &seven));
        }
        root_of_unity(&root, log2);
        for (size_t i = 0; i < n; i++) {
            values[i] = power;
            fr_mul(&power, &power, &root);
        }
        assert_true(fr_equal(&power, &fr_one));
        ntt_to_coset(&ntt, values, &fixture_threads, scratch);
        fr square;
        fr_sqr(&square, &values[0]);
        assert_true(fr_equal(&square, &root)); /* g^2 = w */
        for (size_t i = 1; i < n; i++) {
            fr_mul(&square, &values[i - 1], &root);
            assert_true(fr_equal(&square, &values[i]));
        }
        free(values);
        free(scratch);
        free(table);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(matches_ffjavascript),
        cmocka_unit_test(every_value_of_eight),
        cmocka_unit_test(threads_change_nothing),
        cmocka_unit_test(known_polynomials),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
