/* The proofs below are snarkjs' own, made with chosen blinding by make_prove_vectors.mjs (snarkjs 0.7.5) from
 * the keys and witnesses in tests/data. When those keys are made anew, these must be too. */
#include "groth16/prove.h"

#include "groth16/wtns.h"
#include "tests/unit/fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define R_CHOSEN "11111111111111111111111111111111111111111111111111111111111111111111111111"
#define S_CHOSEN "7654321098765432109876543210987654321098765432109876543210987654321098765432"

/* pi_a x, y; pi_b x c0, c1, y c0, c1; pi_c x, y. */
struct vector {
    const char *key, *witness, *r, *s;
    const char *coordinates[8];
};

static const struct vector vectors[] = {
    {"circuit-small/circuit.zkey",
     "circuit-small/witness-000.wtns",
     R_CHOSEN,
     S_CHOSEN,
     {"12429817719070047458442267408572518256714834260825403195623361115014945826338",
      "6917619159269824992513759808554627478024321439180342618749465704654406210741",
      "8814793872290761292691310889536554444027873796649551688671929309760101175873",
      "5199210774748624569331072158423709219007413700030720415865146829075794355538",
      "3172373746823400677437112976119189438306624488976654000059021573245289218163",
      "11333536951770220598569411154566492939705132360485752047576351787765853540073",
      "6090553290479274636789650897856893134574774120981616117813154047650209109727",
      "9595815287477827706516988480138636169433731332556389048309932036403904130244"}},
    {"circuit-small/circuit.zkey",
     "circuit-small/witness-001.wtns",
     "0",
     "0",
     {"20065649799118300880145298357563572989533477190199224253077496389251963643946",
      "12394351034794033296994136193308975094017470983693159015471152512342524687343",
      "11122097787357159988581039509828572830730621972592542808088972846194209407578",
      "9388093881599792561412574695612745904098913251250423375321953962496834821487",
      "10995380455570873488593805823193621392422354566625534325244844797342904578938",
      "20688501418706056155274975148841282280731283571001899580138372300490261795591",
      "8895505166031392455629141606398063694225241959031018757808593345404050366330",
      "15009458963791818161975092288085626854413314540982908320422034208372382662751"}},
    {"circuit-closed/circuit.zkey",
     "circuit-closed/witness-000.wtns",
     R_CHOSEN,
     S_CHOSEN,
     {"17830892863035589354692091641294565265913173247431519773194023398130397724039",
      "6392638310367732220756903580985189181318655842998782666278000949158272313732",
      "13463196781841718913281838375082590082709719061296158517716262893980887214223",
      "3592738689585575897423561360091421745106184624658193481077824611250420147232",
      "10554844366130215193434452643006357503743051978337026729558918618447841177878",
      "20473639881701571923579450142057310321750661172076747603455267088959960298771",
      "11072466269290095085097793657500194116657761209125067908632292769568467178296",
      "2203805880359966388798134723730371246129190606854928142352860544269828731726"}},
    {"circuit-closed/circuit.zkey",
     "circuit-closed/witness-001.wtns",
     "0",
     "0",
     {"11074311899134743447167074483285369073602283413231715390980478450041266834015",
      "13990131477986878923841143154618660635941369228175274453277698213460024782789",
      "1360475539077116358210763989503160706494333962144966520433597706617565655938",
      "11002143872070177831195226148530950118639202067285373134131231034800235128203",
      "2201521774450480527333213768267073308890631831897177478573658434693858406467",
      "15973225152709418839562529391666351057545327013565769084127290406141207312779",
      "5666691922474592134212176041899049648026761692242263249843013240338492238296",
      "5036542591964720972045316524751724225688834621562561964276835067015601038535"}},
};

struct loaded {
    struct fixture_file key_file, witness_file;
    struct zkey key;
    struct wtns witness;
    struct circuit circuit;
    void *memory;
};

static void load(struct loaded *loaded, const char *key, const char *witness)
{
    struct error error;
    loaded->key_file = fixture_read(key);
    loaded->witness_file = fixture_read(witness);
    assert_int_equal(zkey_parse(&loaded->key, loaded->key_file.bytes, loaded->key_file.size, "k", &error),
                     ERROR_NONE);
    assert_int_equal(
        wtns_parse(&loaded->witness, loaded->witness_file.bytes, loaded->witness_file.size, "w", &error),
        ERROR_NONE);
    assert_int_equal(wtns_check(&loaded->witness, &error), ERROR_NONE);
    assert_int_equal(wtns_match(&loaded->witness, &loaded->key, &error), ERROR_NONE);
    loaded->memory = fixture_block(circuit_memory_size(&loaded->key));
    circuit_init(&loaded->circuit, &loaded->key, loaded->memory, &fixture_threads);
}

static void unload(struct loaded *loaded)
{
    free(loaded->memory);
    free(loaded->key_file.bytes);
    free(loaded->witness_file.bytes);
}

static void set_blinding(struct prove_blinding *blinding, const char *r, const char *s)
{
    u256 plain;
    assert_true(u256_from_decimal(&plain, r, strlen(r)) && fr_from_u256(&blinding->r, &plain));
    assert_true(u256_from_decimal(&plain, s, strlen(s)) && fr_from_u256(&blinding->s, &plain));
}

static void note_stage(void *context, enum prove_stage stage)
{
    int *stages = context;
    assert_int_equal(*stages, (int)stage);
    ++*stages;
}

static void prove(struct proof *proof, const struct loaded *loaded, struct par *par,
                  const struct prove_blinding *blinding)
{
    size_t size = prove_scratch_size(&loaded->circuit, par->workers);
    uint8_t *scratch = fixture_block(size + 64);
    memset(scratch, 0xa5, size + 64); /* what scratch holds before must not matter */
    struct prove_sums sums;
    int stages = 0;
    prove_compute(&sums, &loaded->circuit, loaded->witness.values, par, scratch, note_stage, &stages);
    assert_int_equal(stages, PROVE_STAGES);
    for (int i = 0; i < 64; i++) {
        assert_int_equal(scratch[size + i], 0xa5);
    }
    prove_assemble(proof, &loaded->circuit, &sums, blinding);
    free(scratch);
}

static void assert_coordinates(const struct proof *proof, const char *const expected[8])
{
    const fq *coordinates[8] = {&proof->a.x,    &proof->a.y,    &proof->b.x.c0, &proof->b.x.c1,
                                &proof->b.y.c0, &proof->b.y.c1, &proof->c.x,    &proof->c.y};
    for (int i = 0; i < 8; i++) {
        u256 plain;
        char text[U256_DECIMAL_BYTES];
        fq_to_u256(&plain, coordinates[i]);
        u256_to_decimal(text, &plain);
        assert_string_equal(text, expected[i]);
    }
}

/* The same proof with tables of multiples of some or all points. */
static void prove_with_multiples(struct proof *proof, struct loaded *loaded, enum multiples_kind kind,
                                 struct par *par, const struct prove_blinding *blinding)
{
    struct multiples multiples = multiples_shape(&loaded->key, kind);
    void *memory = fixture_block(multiples_size(&loaded->key, &multiples));
    void *scratch = fixture_block(multiples_scratch_size(&loaded->key, &multiples, par->workers));
    multiples_init(&multiples, &loaded->key, memory, par, scratch);
    assert_true(multiples.h.windows > 0 && (kind == MULTIPLES_H || multiples.b2.windows > 0));
    loaded->circuit.multiples = multiples;
    prove(proof, loaded, par, blinding);
    loaded->circuit.multiples = (struct multiples){0};
    free(scratch);
    free(memory);
}

static void proofs_are_snarkjs_own(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof vectors / sizeof vectors[0]; i++) {
        struct loaded loaded;
        struct prove_blinding blinding;
        struct proof proof;
        load(&loaded, vectors[i].key, vectors[i].witness);
        set_blinding(&blinding, vectors[i].r, vectors[i].s);
        prove(&proof, &loaded, &par_serial, &blinding);
        assert_coordinates(&proof, vectors[i].coordinates);
        prove(&proof, &loaded, &fixture_threads, &blinding);
        assert_coordinates(&proof, vectors[i].coordinates);
        prove_with_multiples(&proof, &loaded, MULTIPLES_H, &par_serial, &blinding);
        assert_coordinates(&proof, vectors[i].coordinates);
        prove_with_multiples(&proof, &loaded, MULTIPLES_ALL, &par_serial, &blinding);
        assert_coordinates(&proof, vectors[i].coordinates);
        prove_with_multiples(&proof, &loaded, MULTIPLES_ALL, &fixture_threads, &blinding);
        assert_coordinates(&proof, vectors[i].coordinates);
        unload(&loaded);
    }
}

/* The caller's witness may lie at any address. */
static void witness_at_an_odd_address(void **state)
{
    (void)state;
    struct loaded loaded;
    struct prove_blinding blinding;
    struct proof proof;
    load(&loaded, vectors[0].key, vectors[0].witness);
    set_blinding(&blinding, vectors[0].r, vectors[0].s);
    size_t size = (size_t)loaded.witness.count * 32;
    uint8_t *block = malloc(size + 1);
    memcpy(block + 1, loaded.witness.values, size);
    loaded.witness.values = block + 1;
    prove(&proof, &loaded, &par_serial, &blinding);
    assert_coordinates(&proof, vectors[0].coordinates);
    free(block);
    unload(&loaded);
}

/* Two draws differ, and are below r; all of the range is reached. */
static void blinding_is_drawn_anew(void **state)
{
    (void)state;
    struct prove_blinding first, second;
    struct error error;
    unsigned tops = 0;
    assert_int_equal(prove_blinding_draw(&first, &error), ERROR_NONE);
    for (int i = 0; i < 200; i++) {
        assert_int_equal(prove_blinding_draw(&second, &error), ERROR_NONE);
        assert_false(fr_equal(&first.r, &second.r));
        assert_false(fr_equal(&first.s, &second.s));
        assert_false(fr_equal(&second.r, &second.s));
        u256 plain;
        fr_to_u256(&plain, &second.r);
        assert_true(u256_less(&plain, &fr_modulus));
        tops |= 1u << (plain.w[3] >> 60);
        first = second;
    }
    /* Each of the first three quarters of 2^254 is a third of the range: missed by 200 draws once in 2^115
     * times. */
    assert_int_equal(tops & 7, 7);
}

/* Points of a key may be infinity; the sums then just lack them. Checked with a key of which nothing is left.
 */
static void a_key_of_infinity_points(void **state)
{
    (void)state;
    struct fixture_file file = fixture_read("circuit-closed/circuit.zkey");
    static const uint32_t sections[] = {5, 6, 7, 8, 9};
    for (size_t i = 0; i < sizeof sections / sizeof sections[0]; i++) {
        size_t at = fixture_section(&file, sections[i]);
        uint64_t size;
        memcpy(&size, file.bytes + at - 8, 8);
        memset(file.bytes + at, 0, (size_t)size);
    }
    struct loaded loaded;
    load(&loaded, "circuit-closed/circuit.zkey", "circuit-closed/witness-000.wtns");
    memcpy(loaded.key_file.bytes, file.bytes, file.size);
    struct prove_blinding zero;
    memset(&zero, 0, sizeof zero);
    struct proof proof;
    prove(&proof, &loaded, &fixture_threads, &zero);
    assert_true(g1_affine_equal(&proof.a, &loaded.key.alpha1));
    assert_true(g2_affine_equal(&proof.b, &loaded.key.beta2));
    assert_true(g1_affine_is_infinity(&proof.c));
    free(file.bytes);
    unload(&loaded);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(proofs_are_snarkjs_own),
        cmocka_unit_test(witness_at_an_odd_address),
        cmocka_unit_test(blinding_is_drawn_anew),
        cmocka_unit_test(a_key_of_infinity_points),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
