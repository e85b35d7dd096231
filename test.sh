#!/bin/sh
# Everything that must hold: builds with gcc and clang, warnings as errors; all tests with both; then with the address,
# undefined-behaviour and thread sanitizers; the fuzz targets for a short while; clang-tidy and cppcheck. Installs what that
# needs. The last lines are ctest's own about the gcc release build. Environment: JOBS (how many at once), UZK_TEST_FAST=1
# (gcc only).
set -eu
cd "$(dirname "$0")"
. .ci/packages.sh
JOBS=${JOBS:-$(nproc)}
export CMAKE_BUILD_PARALLEL_LEVEL="$JOBS" CTEST_PARALLEL_LEVEL="$JOBS" CTEST_OUTPUT_ON_FAILURE=1

# build PRESET [ARGUMENT...]: the arguments go to the configuration.
build() {
    preset=$1
    shift
    step "$preset: configure" cmake --preset "$preset" -DUZK_WERROR=ON "$@"
    step "$preset: build" cmake --build --preset "$preset"
}

# tests PRESET [ARGUMENT...]: the arguments go to ctest.
tests() {
    preset=$1
    shift
    step "$preset: test" ctest --test-dir "build/$preset" --no-tests=error "$@"
}

packages build-essential cmake ninja-build pkg-config liburing-dev libconfuse-dev libjansson-dev libgoogle-perftools4 \
    libcmocka-dev clang libclang-rt-dev clang-tidy cppcheck util-linux procps libjemalloc2 libmimalloc2.0 chromium fonts-dejavu-core
packages_node
step "npm: snarkjs" snarkjs_install
build release -DUZK_TESTS=ON
if [ -z "${UZK_TEST_FAST:-}" ]; then
    step "lint" .ci/lint
    # What a GPU would run must compile and link wherever nvcc is; the kernels' results are tested by emulation. The oldest
    # and the newest architecture, since each takes a minute.
    nvcc=$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)
    if [ -x "$nvcc" ]; then
        build clang -DUZK_CUDA=ON -DCMAKE_CUDA_COMPILER="$nvcc" "-DCMAKE_CUDA_ARCHITECTURES=75-real;90"
    else
        build clang
    fi
    tests clang -E '^e2e/|^gpu/(standin|emulated)'
    # The sanitizers slow the simulator down; the release builds run it in full.
    export UZK_SIM_SEEDS=500
    # So do the cases that kill and restart the program for minutes, and snarkjs has judged the same proofs by then. Allocators
    # can't be compared under a sanitizer, which has its own. They slow the widest arithmetic down most: it is looked at
    # where it is tested itself, and the rest takes the next level.
    e2e='e2e/(kill_resume|interrupt|stopped|differential|allocators|report)'
    build asan
    tests asan -R '^unit/test_(fq|fr|fq2|g1|g2|msm|ntt|prove|pairing|verify)$'
    UZK_CPU=adx tests asan -E "$e2e|unit/test_msm\$|gpu/(test_gpu_msm|standin|emulated)"
    # The emulated kernels run on one thread; of the GPU's tests the thread sanitizer gets the device's.
    build tsan
    tests tsan -R '^unit/test_prove$'
    UZK_CPU=adx tests tsan -E "$e2e|e2e/(bad_input|pressure)|unit/test_(gaps|msm\$)|/(portable|adx|fma)\$|gpu/(test|standin|emu|check)"
    build fuzz
    tests fuzz -R '^fuzz/'
    unset UZK_SIM_SEEDS
fi
echo
ctest --test-dir build/release --no-tests=error
