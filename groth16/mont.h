/* mont.h - arithmetic modulo a 254-bit prime in Montgomery form, written once for both fields of BN254.
 *
 * A template: fq.h and fr.h define MONT_TYPE, MONT(name), MONT_P0..3 and MONT_N0 (-1/p mod 2^64) and include
 * this file. Values are four little-endian words, a*2^256 mod p, always below p. Everything is inline, so
 * that a caller compiled for a newer processor gets its own copy. Any operand may be the result.
 * Variable-time: inversion and pow branch on their operands, as in the other provers; don't use them where
 * timing must hide a secret from a neighbour. Multiplication is Montgomery's with the rows of product and
 * reduction interleaved; since p is below 2^254 no row carries out of the fifth word (the "no-carry"
 * observation in gnark-crypto's notes). */

static inline __attribute__((always_inline)) void MONT(reduce_once)(MONT_TYPE *r, const uint64_t t[4])
{
    static const uint64_t p[4] = {MONT_P0, MONT_P1, MONT_P2, MONT_P3};
    uint64_t s[4];
    uint64_t borrow = 0;
    for (int i = 0; i < 4; i++) {
        unsigned __int128 d = (unsigned __int128)t[i] - p[i] - borrow;
        s[i] = (uint64_t)d;
        borrow = (uint64_t)(d >> 64) & 1;
    }
    uint64_t keep = (uint64_t)0 - borrow; /* all ones if t < p */
    for (int i = 0; i < 4; i++) {
        r->w[i] = (t[i] & keep) | (s[i] & ~keep);
    }
}

static inline __attribute__((always_inline)) void MONT(add)(MONT_TYPE *r, const MONT_TYPE *a,
                                                            const MONT_TYPE *b)
{
    uint64_t t[4];
    unsigned __int128 carry = 0;
    for (int i = 0; i < 4; i++) {
        carry += (unsigned __int128)a->w[i] + b->w[i];
        t[i] = (uint64_t)carry;
        carry >>= 64;
    }
    MONT(reduce_once)(r, t); /* 2p < 2^255: no carry out */
}

static inline __attribute__((always_inline)) void MONT(sub)(MONT_TYPE *r, const MONT_TYPE *a,
                                                            const MONT_TYPE *b)
{
    static const uint64_t p[4] = {MONT_P0, MONT_P1, MONT_P2, MONT_P3};
    uint64_t t[4];
    uint64_t borrow = 0;
    for (int i = 0; i < 4; i++) {
        unsigned __int128 d = (unsigned __int128)a->w[i] - b->w[i] - borrow;
        t[i] = (uint64_t)d;
        borrow = (uint64_t)(d >> 64) & 1;
    }
    uint64_t mask = (uint64_t)0 - borrow;
    unsigned __int128 carry = 0;
    for (int i = 0; i < 4; i++) {
        carry += (unsigned __int128)t[i] + (p[i] & mask);
        r->w[i] = (uint64_t)carry;
        carry >>= 64;
    }
}

static inline void MONT(dbl)(MONT_TYPE *r, const MONT_TYPE *a)
{
    MONT(add)(r, a, a);
}

static inline void MONT(neg)(MONT_TYPE *r, const MONT_TYPE *a)
{
    static const MONT_TYPE zero = {{0, 0, 0, 0}};
    MONT(sub)(r, &zero, a);
}

#if defined(MONT_ADX) && defined(__x86_64__)
/* One row of the product, b_i * a, added to t0..t3 and t4 made new: carries of the low halves run through CF
 * (adcx), of the high halves through OF (adox). */
#ifndef MONT_ROW
#ifdef __clang__ /* would spend a register on each operand in memory, and there is none left */
#define MONT_READS(a, b, c)
#define MONT_CLOBBER , "memory"
#else
#define MONT_READS(a, b, c) , "m"(*(a)), "m"(*(b)), "m"(c)
#define MONT_CLOBBER
#endif
#define MONT_ROW(i, t0, t1, t2, t3, t4) \
    "movq " #i "(%[b]), %%rdx\n\t"      \
    "xorl %k[lo], %k[lo]\n\t"           \
    "mulx 0(%[a]), %[lo], %[hi]\n\t"    \
    "adcx %[lo], " t0 "\n\t"            \
    "adox %[hi], " t1 "\n\t"            \
    "mulx 8(%[a]), %[lo], %[hi]\n\t"    \
    "adcx %[lo], " t1 "\n\t"            \
    "adox %[hi], " t2 "\n\t"            \
    "mulx 16(%[a]), %[lo], %[hi]\n\t"   \
    "adcx %[lo], " t2 "\n\t"            \
    "adox %[hi], " t3 "\n\t"            \
    "mulx 24(%[a]), %[lo], " t4 "\n\t"  \
    "adcx %[lo], " t3 "\n\t"            \
    "movl $0, %k[lo]\n\t"               \
    "adox %[lo], " t4 "\n\t"            \
    "adcx %[lo], " t4 "\n\t"
/* Adds the multiple of p that clears t0; t1..t4 are the new t0..t3. */
#define MONT_REDUCE(t0, t1, t2, t3, t4) \
    "movq 32(%[p]), %%rdx\n\t"          \
    "imulq " t0 ", %%rdx\n\t"           \
    "xorl %k[lo], %k[lo]\n\t"           \
    "mulx 0(%[p]), %[lo], %[hi]\n\t"    \
    "adcx %[lo], " t0 "\n\t"            \
    "adox %[hi], " t1 "\n\t"            \
    "mulx 8(%[p]), %[lo], %[hi]\n\t"    \
    "adcx %[lo], " t1 "\n\t"            \
    "adox %[hi], " t2 "\n\t"            \
    "mulx 16(%[p]), %[lo], %[hi]\n\t"   \
    "adcx %[lo], " t2 "\n\t"            \
    "adox %[hi], " t3 "\n\t"            \
    "mulx 24(%[p]), %[lo], %[hi]\n\t"   \
    "adcx %[lo], " t3 "\n\t"            \
    "adox %[hi], " t4 "\n\t"            \
    "movl $0, %k[lo]\n\t"               \
    "adcx %[lo], " t4 "\n\t"
#endif

static inline __attribute__((always_inline)) void MONT(mul)(MONT_TYPE *r, const MONT_TYPE *a,
                                                            const MONT_TYPE *b)
{
    static const uint64_t constants[5] = {MONT_P0, MONT_P1, MONT_P2, MONT_P3, MONT_N0};
    uint64_t t[5], lo, hi;
    __asm__("xorl %k[t0], %k[t0]\n\t"
            "xorl %k[t1], %k[t1]\n\t"
            "xorl %k[t2], %k[t2]\n\t"
            "xorl %k[t3], %k[t3]\n\t" MONT_ROW(0, "%[t0]", "%[t1]", "%[t2]", "%[t3]", "%[t4]")
                MONT_REDUCE("%[t0]", "%[t1]", "%[t2]", "%[t3]", "%[t4]")
                    MONT_ROW(8, "%[t1]", "%[t2]", "%[t3]", "%[t4]", "%[t0]")
                        MONT_REDUCE("%[t1]", "%[t2]", "%[t3]", "%[t4]", "%[t0]")
                            MONT_ROW(16, "%[t2]", "%[t3]", "%[t4]", "%[t0]", "%[t1]")
                                MONT_REDUCE("%[t2]", "%[t3]", "%[t4]", "%[t0]", "%[t1]")
                                    MONT_ROW(24, "%[t3]", "%[t4]", "%[t0]", "%[t1]", "%[t2]")
                                        MONT_REDUCE("%[t3]", "%[t4]", "%[t0]", "%[t1]", "%[t2]")
            : [t0] "=&r"(t[4]), [t1] "=&r"(t[0]), [t2] "=&r"(t[1]), [t3] "=&r"(t[2]), [t4] "=&r"(t[3]),
              [lo] "=&r"(lo), [hi] "=&r"(hi)
            : [a] "r"(a->w), [b] "r"(b->w), [p] "r"(constants)MONT_READS(a, b, constants)
            : "rdx", "cc" MONT_CLOBBER);
    /* after four rotations the result stands in t4, t0, t1, t2 */
    MONT(reduce_once)(r, (const uint64_t[4]){t[3], t[4], t[0], t[1]});
}
#else
static inline __attribute__((always_inline)) void MONT(mul)(MONT_TYPE *r, const MONT_TYPE *a,
                                                            const MONT_TYPE *b)
{
    static const uint64_t p[4] = {MONT_P0, MONT_P1, MONT_P2, MONT_P3};
    uint64_t t[4] = {0, 0, 0, 0};
    for (int i = 0; i < 4; i++) {
        unsigned __int128 product = (unsigned __int128)a->w[0] * b->w[i] + t[0];
        uint64_t m = (uint64_t)product * MONT_N0;
        unsigned __int128 reduction = (unsigned __int128)m * p[0] + (uint64_t)product;
        for (int j = 1; j < 4; j++) {
            product = (unsigned __int128)a->w[j] * b->w[i] + t[j] + (uint64_t)(product >> 64);
            reduction = (unsigned __int128)m * p[j] + (uint64_t)product + (uint64_t)(reduction >> 64);
            t[j - 1] = (uint64_t)reduction;
        }
        t[3] = (uint64_t)(product >> 64) + (uint64_t)(reduction >> 64);
    }
    MONT(reduce_once)(r, t);
}
#endif

static inline __attribute__((always_inline)) void MONT(sqr)(MONT_TYPE *r, const MONT_TYPE *a)
{
    MONT(mul)(r, a, a);
}

static inline bool MONT(is_zero)(const MONT_TYPE *a)
{
    return (a->w[0] | a->w[1] | a->w[2] | a->w[3]) == 0;
}

static inline bool MONT(equal)(const MONT_TYPE *a, const MONT_TYPE *b)
{
    return ((a->w[0] ^ b->w[0]) | (a->w[1] ^ b->w[1]) | (a->w[2] ^ b->w[2]) | (a->w[3] ^ b->w[3])) == 0;
}

/* From and to plain integers; from_u256 is false, and r untouched, if a is the modulus or more. */
bool MONT(from_u256)(MONT_TYPE *r, const u256 *a);
void MONT(to_u256)(u256 *r, const MONT_TYPE *a);

/* The 32 bytes of a value in Montgomery form, as .zkey files hold points; load is false, and r untouched, for
 * bytes that are the modulus or more. */
static inline bool MONT(load)(MONT_TYPE *r, const uint8_t bytes[U256_BYTES])
{
    u256 plain;
    u256_load_le(&plain, bytes);
    if (!u256_less(&plain, &MONT(modulus))) {
        return false;
    }
    memcpy(r->w, plain.w, sizeof r->w);
    return true;
}

static inline void MONT(store)(uint8_t bytes[U256_BYTES], const MONT_TYPE *a)
{
    memcpy(bytes, a->w, U256_BYTES);
}

void MONT(pow)(MONT_TYPE *r, const MONT_TYPE *a, const u256 *exponent);

/* 1/a, and 0 for 0; see modinv.h. */
void MONT(inv)(MONT_TYPE *r, const MONT_TYPE *a);

/* Inverts n values in place with one inversion and 3(n - 1) multiplications (Montgomery's trick); zeros stay
 * zero. scratch: n values. */
void MONT(batch_inv)(MONT_TYPE *values, MONT_TYPE *scratch, size_t n);
