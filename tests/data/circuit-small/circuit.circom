pragma circom 2.1.6;

// A spending limit with membership: the prover holds a note (secret, amount) that is a leaf of a Merkle tree with a
// public root, and the amount is at most a public limit. Made for tests: small, but with the parts real circuits
// have (bits, a hash with a power map, selectors, outputs, wires that occur in A only, in B only and in neither).
// The hash has too few rounds to be safe; never use it outside tests.

// One word into the state: twelve rounds of x -> (x + c)^5, each three constraints.
template Absorb(rounds) {
    signal input state;
    signal input word;
    signal output out;
    signal square[rounds];
    signal fourth[rounds];
    signal power[rounds];
    var constant = 1;
    for (var i = 0; i < rounds; i++) {
        var x = (i == 0 ? state + word : power[i - 1]) + constant;
        square[i] <== x * x;
        fourth[i] <== square[i] * square[i];
        power[i] <== fourth[i] * x;
        constant = constant * constant + 5 * i + 3;
    }
    out <== power[rounds - 1] + word;
}

template Hash2() {
    signal input left;
    signal input right;
    signal output out;
    component first = Absorb(12);
    component second = Absorb(12);
    first.state <== 7;
    first.word <== left;
    second.state <== first.out;
    second.word <== right;
    out <== second.out;
}

// value < 2^n
template Bits(n) {
    signal input value;
    signal bit[n];
    var sum = 0;
    for (var i = 0; i < n; i++) {
        bit[i] <-- (value >> i) & 1;
        bit[i] * (bit[i] - 1) === 0;
        sum += bit[i] * (1 << i);
    }
    sum === value;
}

template Spend(depth) {
    signal input root;      // public
    signal input limit;     // public
    signal input topic;     // public
    signal input secret;
    signal input amount;
    signal input side[depth];      // 0: our node is the left child
    signal input sibling[depth];
    signal output nullifier;
    signal output fee;

    component amountBits = Bits(32);
    amountBits.value <== amount;
    component roomBits = Bits(32);
    roomBits.value <== limit - amount;

    component leaf = Hash2();
    leaf.left <== secret;
    leaf.right <== amount;

    component node[depth];
    signal swap[depth];
    for (var i = 0; i < depth; i++) {
        var below = i == 0 ? leaf.out : node[i - 1].out;
        side[i] * (side[i] - 1) === 0;
        swap[i] <== side[i] * (sibling[i] - below);
        node[i] = Hash2();
        node[i].left <== below + swap[i];
        node[i].right <== sibling[i] - swap[i];
    }
    root === node[depth - 1].out;

    component tag = Hash2();
    tag.left <== secret;
    tag.right <== topic;
    nullifier <== tag.out;
    fee <== amount * 3 + 1;
}

component main { public [root, limit, topic] } = Spend(4);
