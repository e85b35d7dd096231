/* msm_kernel.h - one task of an MSM (msm_internal.h), written once for both groups; msm_portable.c and its
 * sisters include it for each.
 *
 * They define KERNEL(name), KERNEL_POINT(name) and KERNEL_FIELD(name) for the group's and field's functions,
 * KERNEL_AFFINE, KERNEL_XYZZ, KERNEL_ELEMENT, KERNEL_POINT_BYTES and KERNEL_TASK, the function this defines.
 */

struct KERNEL(scratch) {
    uint32_t *begins; /* buckets + 1 */
    uint32_t *order;  /* points of the slice sorted by bucket; bit 31: subtract it */
    int32_t *digits;  /* shares its memory with nothing: they are read while order is written */
    KERNEL_AFFINE *buckets;
    KERNEL_AFFINE *chunk[2];
    KERNEL_ELEMENT *differences;
    KERNEL_ELEMENT *prefixes;
    struct msm_segment *segments;
    uint16_t *pairs; /* where in a chunk a pair's first point is */
    uint16_t *outs;  /* and where its sum goes in the next */
};

static size_t KERNEL(carve)(struct KERNEL(scratch) * scratch, unsigned char *base, size_t points,
                            size_t buckets)
{
    unsigned char *next = base;
#define KERNEL_CARVE(member, count)                                     \
    do {                                                                \
        scratch->member = (void *)next;                                 \
        next += ((count) * sizeof *scratch->member + 63) & ~(size_t)63; \
    } while (0)
    KERNEL_CARVE(chunk[0], MSM_CHUNK);
    KERNEL_CARVE(chunk[1], MSM_CHUNK);
    KERNEL_CARVE(differences, MSM_CHUNK / 2);
    KERNEL_CARVE(prefixes, MSM_CHUNK / 2);
    KERNEL_CARVE(buckets, buckets);
    KERNEL_CARVE(segments, MSM_CHUNK);
    KERNEL_CARVE(pairs, MSM_CHUNK / 2);
    KERNEL_CARVE(outs, MSM_CHUNK / 2);
    KERNEL_CARVE(begins, buckets + 1);
    KERNEL_CARVE(order, points);
    KERNEL_CARVE(digits, points);
#undef KERNEL_CARVE
    return (size_t)(next - base);
}

/* The digits of one window for the slice's points, counted in begins[|digit|]. */
static void KERNEL(count)(int32_t *digits, uint32_t *begins, const struct msm_call *call, unsigned window,
                          size_t first, size_t count)
{
    const unsigned bit = window * call->window_bits;
    const uint8_t *scalars = call->scalars + first * U256_BYTES;
    for (size_t block = 0; block < count; block += MSM_BLOCK) {
        const size_t end = count - block < MSM_BLOCK ? count : block + MSM_BLOCK;
        if (call->block_bits[(first + block) / MSM_BLOCK] <= bit) {
            memset(digits + block, 0, (end - block) * sizeof *digits);
            continue;
        }
        for (size_t i = block; i < end; i++) {
            const int32_t digit = msm_digit(scalars + i * U256_BYTES, bit, call->window_bits);
            digits[i] = digit;
            begins[digit < 0 ? -digit : digit]++;
        }
    }
}

/* Counting sort of the slice by bucket; digit d is bucket |d| - 1, digit 0 is in none. */
static void KERNEL(sort)(struct KERNEL(scratch) * scratch, const struct msm_call *call,
                         const struct msm_task *task, size_t first, size_t count, size_t buckets)
{
    uint32_t *begins = scratch->begins;
    memset(begins, 0, (buckets + 1) * sizeof *begins);
    for (uint32_t window = 0; window < task->windows; window++) {
        KERNEL(count)(scratch->digits + window * count, begins, call, task->window + window, first, count);
    }
    uint32_t total = 0;
    for (size_t bucket = 1; bucket <= buckets; bucket++) {
        const uint32_t size = begins[bucket];
        begins[bucket] = total;
        total += size;
    }
    for (size_t i = 0; i < task->windows * count; i++) {
        const int32_t digit = scratch->digits[i];
        if (digit != 0) {
            const uint32_t sign = digit < 0 ? UINT32_C(1) << 31 : 0;
            scratch->order[begins[digit < 0 ? -digit : digit]++] = (uint32_t)i | sign;
        }
    }
    begins[0] = 0; /* begins[b] has moved to the end of bucket b - 1, which is the begin of bucket b */
}

/* p + q in affine coordinates, given 1/(q.x - p.x), or 1/(2 p.y) if the points are equal. */
static inline void KERNEL(add_with_inverse)(KERNEL_AFFINE *r, const KERNEL_AFFINE *p, const KERNEL_AFFINE *q,
                                            const KERNEL_ELEMENT *inverse)
{
    KERNEL_ELEMENT slope, x;
    if (KERNEL_POINT(affine_is_infinity)(p) || KERNEL_POINT(affine_is_infinity)(q)) {
        *r = KERNEL_POINT(affine_is_infinity)(p) ? *q : *p;
        return;
    }
    if (KERNEL_FIELD(equal)(&p->x, &q->x)) {
        if (!KERNEL_FIELD(equal)(&p->y, &q->y)) {
            memset(r, 0, sizeof *r);
            return;
        }
        KERNEL_FIELD(sqr)(&x, &p->x);
        KERNEL_FIELD(dbl)(&slope, &x);
        KERNEL_FIELD(add)(&slope, &slope, &x);
    } else {
        KERNEL_FIELD(sub)(&slope, &q->y, &p->y);
    }
    KERNEL_FIELD(mul)(&slope, &slope, inverse);
    KERNEL_FIELD(sqr)(&x, &slope);
    KERNEL_FIELD(sub)(&x, &x, &p->x);
    KERNEL_FIELD(sub)(&x, &x, &q->x);
    KERNEL_ELEMENT y;
    KERNEL_FIELD(sub)(&y, &p->x, &x);
    KERNEL_FIELD(mul)(&y, &y, &slope);
    KERNEL_FIELD(sub)(&r->y, &y, &p->y);
    r->x = x;
}

/* Sums `count` pairs: point pairs[i] and its successor in `in`, into outs[i] of `out`. */
static void KERNEL(add_pairs)(KERNEL_AFFINE *out, const KERNEL_AFFINE *in,
                              const struct KERNEL(scratch) * scratch, size_t count)
{
#ifdef MSM_VECTOR
    if (count >= MSM_VECTOR_PAIRS_MIN) {
        /* prefixes follow differences in memory; the vectors need a little more than the former */
        KERNEL_VECTOR(add_pairs)(out, in, scratch->pairs, scratch->outs, (void *)scratch->differences, count);
        return;
    }
#endif
    KERNEL_ELEMENT product = KERNEL_FIELD(one);
    for (size_t i = 0; i < count; i++) {
        const KERNEL_AFFINE *p = &in[scratch->pairs[i]];
        const KERNEL_AFFINE *q = p + 1;
        KERNEL_ELEMENT *difference = &scratch->differences[i];
        KERNEL_FIELD(sub)(difference, &q->x, &p->x);
        if (KERNEL_FIELD(is_zero)(difference)) {
            KERNEL_FIELD(add)(difference, &p->y, &q->y); /* 2y if equal, 0 if opposite */
        }
        if (KERNEL_FIELD(is_zero)(difference) || KERNEL_POINT(affine_is_infinity)(p) ||
            KERNEL_POINT(affine_is_infinity)(q)) {
            *difference = KERNEL_FIELD(one); /* the sum needs no division */
        }
        scratch->prefixes[i] = product;
        KERNEL_FIELD(mul)(&product, &product, difference);
    }
    KERNEL_FIELD(inv)(&product, &product);
    for (size_t i = count; i-- > 0;) {
        KERNEL_ELEMENT slope;
        KERNEL_FIELD(mul)(&slope, &product, &scratch->prefixes[i]);
        KERNEL_FIELD(mul)(&product, &product, &scratch->differences[i]);
        const KERNEL_AFFINE *p = &in[scratch->pairs[i]];
        KERNEL(add_with_inverse)(&out[scratch->outs[i]], p, p + 1, &slope);
    }
}

/* Halves every segment of chunk[from] into the other chunk; returns whether one still has two points. */
static bool KERNEL(halve)(struct KERNEL(scratch) * scratch, int from, size_t segments)
{
    const KERNEL_AFFINE *in = scratch->chunk[from];
    KERNEL_AFFINE *out = scratch->chunk[1 - from];
    size_t position = 0, written = 0, pairs = 0;
    bool more = false;
    for (size_t s = 0; s < segments; s++) {
        const uint32_t length = scratch->segments[s].length;
        for (uint32_t k = 0; k < length / 2; k++) {
            scratch->pairs[pairs] = (uint16_t)(position + 2 * k);
            scratch->outs[pairs++] = (uint16_t)(written + k);
        }
        const uint32_t left = length - length / 2;
        if (length % 2 != 0) {
            out[written + left - 1] = in[position + length - 1];
        }
        position += length;
        written += left;
        scratch->segments[s].length = left;
        more |= left > 1;
    }
    KERNEL(add_pairs)(out, in, scratch, pairs);
    return more;
}

/* Sums all segments of the chunk and puts each into its bucket. */
static void KERNEL(flush)(struct KERNEL(scratch) * scratch, size_t segments, bool halve)
{
    int from = 0;
    while (halve) {
        halve = KERNEL(halve)(scratch, from, segments);
        from = 1 - from;
    }
    for (size_t s = 0; s < segments; s++) {
        scratch->buckets[scratch->segments[s].bucket] = scratch->chunk[from][s];
    }
}

/* Sums every bucket's points. A bucket that ends in a later chunk goes on there with its sum so far as a
 * first point. */
static void KERNEL(accumulate)(struct KERNEL(scratch) * scratch, const struct msm_call *call, size_t first,
                               size_t buckets)
{
    enum { AHEAD = 16 }; /* gathers to keep in flight */
    const uint8_t *points = call->points + first * KERNEL_POINT_BYTES;
    const uint32_t total = scratch->begins[buckets];
    KERNEL_AFFINE *chunk = scratch->chunk[0];
    size_t filled = 0, segments = 0;
    bool halve = false;
    for (size_t bucket = 0; bucket < buckets; bucket++) {
        uint32_t length = 0;
        for (uint32_t i = scratch->begins[bucket]; i < scratch->begins[bucket + 1]; i++) {
            if (i + AHEAD < total) {
                const size_t ahead = scratch->order[i + AHEAD] & INT32_MAX;
                __builtin_prefetch(points + ahead * KERNEL_POINT_BYTES);
                __builtin_prefetch(points + ahead * KERNEL_POINT_BYTES + KERNEL_POINT_BYTES - 1);
            }
            if (filled == MSM_CHUNK) {
                if (length > 0) {
                    scratch->segments[segments++] = (struct msm_segment){(uint32_t)bucket, length};
                    halve |= length > 1;
                }
                KERNEL(flush)(scratch, segments, halve);
                filled = segments = 0;
                halve = false;
                if (length > 0) {
                    chunk[filled++] = scratch->buckets[bucket];
                    length = 1;
                }
            }
            const uint32_t entry = scratch->order[i];
            KERNEL_AFFINE *point = &chunk[filled];
            KERNEL(load)(point, points + (size_t)(entry & INT32_MAX) * KERNEL_POINT_BYTES);
            if (KERNEL_POINT(affine_is_infinity)(point)) {
                continue;
            }
            if (entry >> 31 != 0) {
                KERNEL_FIELD(neg)(&point->y, &point->y);
            }
            filled++;
            length++;
        }
        if (length == 0) {
            memset(&scratch->buckets[bucket], 0, sizeof scratch->buckets[bucket]);
        } else {
            scratch->segments[segments++] = (struct msm_segment){(uint32_t)bucket, length};
            halve |= length > 1;
        }
    }
    KERNEL(flush)(scratch, segments, halve);
}

/* Sums `count` segments of `length` buckets each, bucket j of segment i being number i * next + j * step. */
static void KERNEL(sum_lines)(KERNEL_AFFINE *sums, struct KERNEL(scratch) * scratch, size_t count,
                              size_t length, size_t next, size_t step)
{
    const size_t at_once = MSM_CHUNK / length;
    for (size_t first = 0; first < count; first += at_once) {
        const size_t segments = count - first < at_once ? count - first : at_once;
        KERNEL_AFFINE *chunk = scratch->chunk[0];
        int from = 0;
        for (size_t i = 0; i < segments; i++) {
            scratch->segments[i] = (struct msm_segment){0, (uint32_t)length};
            for (size_t j = 0; j < length; j++) {
                *chunk++ = scratch->buckets[(first + i) * next + j * step];
            }
        }
        for (bool more = length > 1; more; from = 1 - from) {
            more = KERNEL(halve)(scratch, from, segments);
        }
        memcpy(sums + first, scratch->chunk[from], segments * sizeof *sums);
    }
}

/* r = the sum of (i + offset) * points[i]: running sums from the last. */
static void KERNEL(weigh)(KERNEL_XYZZ *r, const KERNEL_AFFINE *points, size_t count, size_t offset)
{
    KERNEL_XYZZ running, sum;
    KERNEL_POINT(xyzz_set_infinity)(&running);
    KERNEL_POINT(xyzz_set_infinity)(&sum);
    for (size_t i = count; i-- > 1 - offset;) {
        KERNEL_POINT(xyzz_add_affine)(&running, &running, &points[i]);
        KERNEL_POINT(xyzz_add)(&sum, &sum, &running);
    }
    *r = sum;
}

/* r = the sum of (i + 1) * bucket i. Many buckets are laid out as a matrix: the sums of its rows, weighed by
 * row, and of its columns, weighed by column, need two affine additions a bucket instead of two long ones. */
static void KERNEL(sum_buckets)(KERNEL_XYZZ *r, struct KERNEL(scratch) * scratch, unsigned log2)
{
    if (log2 < MSM_MATRIX_LOG2_MIN) {
        KERNEL(weigh)(r, scratch->buckets, (size_t)1 << log2, 1);
        return;
    }
    const unsigned columns_log2 = log2 / 2;
    const size_t columns = (size_t)1 << columns_log2;
    const size_t rows = (size_t)1 << (log2 - columns_log2);
    KERNEL_AFFINE sums[1 << ((MSM_WINDOW_BITS_MAX - 1 + 1) / 2)];
    KERNEL_XYZZ by_column;
    KERNEL(sum_lines)(sums, scratch, rows, columns, columns, 1);
    KERNEL(weigh)(r, sums, rows, 0);
    for (unsigned bit = 0; bit < columns_log2; bit++) {
        KERNEL_POINT(xyzz_dbl)(r, r);
    }
    KERNEL(sum_lines)(sums, scratch, columns, rows, 1, columns);
    KERNEL(weigh)(&by_column, sums, columns, 1);
    KERNEL_POINT(xyzz_add)(r, r, &by_column);
}

void KERNEL_TASK(void *argument, size_t task, unsigned worker)
{
    const struct msm_call *call = argument;
    const struct msm_task *slice = &call->tasks[task];
    const size_t first = msm_slice_begin(call->n, slice->slice, slice->slices);
    const size_t count = msm_slice_begin(call->n, slice->slice + 1, slice->slices) - first;
    const size_t buckets = (size_t)1 << (call->window_bits - 1);
    struct KERNEL(scratch) scratch;
    KERNEL(carve)(&scratch, call->workers + worker * call->worker_bytes, call->slice_points, buckets);
    KERNEL(sort)(&scratch, call, slice, first, count, buckets);
    KERNEL_XYZZ *sum = (KERNEL_XYZZ *)call->sums + task;
    KERNEL_POINT(xyzz_set_infinity)(sum);
    if (scratch.begins[buckets] != 0) {
        KERNEL(accumulate)(&scratch, call, call->table ? slice->window * call->n : first, buckets);
        KERNEL(sum_buckets)(sum, &scratch, call->window_bits - 1);
    }
}

/* Doubles `count` points in place. */
static void KERNEL(double_all)(KERNEL_AFFINE *points, const struct KERNEL(scratch) * scratch, size_t count)
{
#ifdef MSM_VECTOR
    KERNEL_VECTOR(double_all)(points, (void *)scratch->differences, count);
#else
    KERNEL_ELEMENT product = KERNEL_FIELD(one);
    for (size_t i = 0; i < count; i++) {
        KERNEL_FIELD(dbl)(&scratch->differences[i], &points[i].y);
        if (KERNEL_FIELD(is_zero)(&scratch->differences[i])) {
            scratch->differences[i] = KERNEL_FIELD(one); /* infinity */
        }
        scratch->prefixes[i] = product;
        KERNEL_FIELD(mul)(&product, &product, &scratch->differences[i]);
    }
    KERNEL_FIELD(inv)(&product, &product);
    for (size_t i = count; i-- > 0;) {
        KERNEL_ELEMENT inverse;
        KERNEL_FIELD(mul)(&inverse, &product, &scratch->prefixes[i]);
        KERNEL_FIELD(mul)(&product, &product, &scratch->differences[i]);
        KERNEL(add_with_inverse)(&points[i], &points[i], &points[i], &inverse);
    }
#endif
}

void KERNEL_BUILD(void *argument, size_t task, unsigned worker)
{
    const struct msm_building *building = argument;
    const size_t first = task * (MSM_CHUNK / 2);
    const size_t left = building->n - first;
    const size_t count = left < MSM_CHUNK / 2 ? left : MSM_CHUNK / 2;
    struct KERNEL(scratch) scratch;
    KERNEL(carve)(&scratch, building->workers + worker * building->worker_bytes, 1, 1);
    KERNEL_AFFINE *points = scratch.chunk[0];
    for (size_t i = 0; i < count; i++) {
        KERNEL(load)(&points[i], building->points + (first + i) * KERNEL_POINT_BYTES);
    }
    for (unsigned window = 1; window < building->windows; window++) {
        for (unsigned bit = 0; bit < building->window_bits; bit++) {
            KERNEL(double_all)(points, &scratch, count);
        }
        memcpy(building->points + (window * building->n + first) * KERNEL_POINT_BYTES, points,
               count * KERNEL_POINT_BYTES);
    }
}
