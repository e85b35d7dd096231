pragma circom 2.1.6;

// No public input and no output, so public.json is []: the prover knows two factors of 3233 below 2^8, both above 1.
template Closed() {
    signal input p;
    signal input q;
    p * q === 3233;
    signal bit[2][8];
    var sum[2];
    for (var k = 0; k < 2; k++) {
        var value = k == 0 ? p : q;
        sum[k] = 0;
        for (var i = 0; i < 8; i++) {
            bit[k][i] <-- (value >> i) & 1;
            bit[k][i] * (bit[k][i] - 1) === 0;
            sum[k] += bit[k][i] * (1 << i);
        }
        sum[k] === value;
    }
    signal inverse[2];
    inverse[0] <-- 1 / (p - 1);
    inverse[0] * (p - 1) === 1;
    inverse[1] <-- 1 / (q - 1);
    inverse[1] * (q - 1) === 1;
}

component main = Closed();
