/* msm_body.h - Pippenger's method, written once for G1 and G2; msm.c includes it twice.
 *
 * A scalar of 254 bits is cut in windows of c bits; digits are made signed (-2^(c-1) .. 2^(c-1)), so that
 * 2^(c-1) buckets do. One task is one window: each point is added to the bucket of its digit, buckets are
 * summed by running sums, and the windows are put together by c doublings each. */

static void MSM(window)(void *argument, size_t index, unsigned worker)
{
    struct MSM(call) *call = argument;
    const unsigned c = call->window_bits;
    const size_t buckets_count = (size_t)1 << (c - 1);
    MSM_XYZZ *buckets = call->buckets + worker * buckets_count;
    memset(buckets, 0, buckets_count * sizeof *buckets); /* all infinity */
    for (size_t i = 0; i < call->n; i++) {
        int32_t digit = msm_digit(call->scalars + i * U256_BYTES, (unsigned)index, c);
        if (digit == 0) {
            continue;
        }
        MSM_AFFINE point;
        bool valid = MSM_POINT(affine_load)(&point, call->points + i * MSM_POINT_BYTES);
        CHECK(valid);
        if (digit < 0) {
            MSM_POINT(affine_neg)(&point, &point);
            digit = -digit;
        }
        MSM_POINT(xyzz_add_affine)(&buckets[digit - 1], &buckets[digit - 1], &point);
    }
    MSM_XYZZ running, sum;
    MSM_POINT(xyzz_set_infinity)(&running);
    MSM_POINT(xyzz_set_infinity)(&sum);
    for (size_t i = buckets_count; i-- > 0;) {
        MSM_POINT(xyzz_add)(&running, &running, &buckets[i]);
        MSM_POINT(xyzz_add)(&sum, &sum, &running);
    }
    call->sums[index] = sum;
}

static void MSM(run)(MSM_XYZZ *r, const uint8_t *points, const uint8_t *scalars, size_t n, struct par *par,
                     void *scratch)
{
    struct MSM(call) call = {.points = points, .scalars = scalars, .n = n, .window_bits = msm_window_bits(n)};
    const size_t windows = msm_windows(call.window_bits);
    call.sums = scratch;
    call.buckets = call.sums + windows;
    par_run(par, windows, MSM(window), &call);
    MSM_XYZZ result;
    MSM_POINT(xyzz_set_infinity)(&result);
    for (size_t i = windows; i-- > 0;) {
        for (unsigned bit = 0; bit < call.window_bits; bit++) {
            MSM_POINT(xyzz_dbl)(&result, &result);
        }
        MSM_POINT(xyzz_add)(&result, &result, &call.sums[i]);
    }
    *r = result;
}

static size_t MSM(scratch)(size_t n, unsigned workers)
{
    const unsigned c = msm_window_bits(n);
    return (msm_windows(c) + ((size_t)workers << (c - 1))) * sizeof(MSM_XYZZ);
}
