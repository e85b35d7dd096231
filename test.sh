#!/bin/sh
# Everything that must hold: builds with gcc and clang, warnings as errors; all tests with both; then with the address,
# undefined-behaviour and thread sanitizers; the fuzz targets for a short while. Installs what that needs. The last lines
# are ctest's own about the gcc release build. Environment: JOBS (how many at once), UZK_TEST_FAST=1 (gcc only).
set -eu
cd "$(dirname "$0")"
. .ci/packages.sh
JOBS=${JOBS:-$(nproc)}
export CMAKE_BUILD_PARALLEL_LEVEL="$JOBS" CTEST_PARALLEL_LEVEL="$JOBS" CTEST_OUTPUT_ON_FAILURE=1

# suite PRESET: configure, build and run its tests; the arguments behind go to ctest.
suite() {
    preset=$1
    shift
    step "$preset: configure" cmake --preset "$preset" -DUZK_WERROR=ON
    step "$preset: build" cmake --build --preset "$preset"
    step "$preset: test" ctest --test-dir "build/$preset" --no-tests=error "$@"
}

packages build-essential cmake ninja-build pkg-config liburing-dev libconfuse-dev libjansson-dev libgoogle-perftools4 \
    libcmocka-dev clang libclang-rt-dev util-linux procps libjemalloc2 libmimalloc2.0 chromium fonts-dejavu-core
packages_node
step "npm: snarkjs" snarkjs_install
step "release: configure" cmake --preset release -DUZK_WERROR=ON -DUZK_TESTS=ON
step "release: build" cmake --build --preset release
if [ -z "${UZK_TEST_FAST:-}" ]; then
    suite clang -E '^e2e/|^gpu/(standin|emulated)'
    # The sanitizers slow the simulator down; the release builds run it in full.
    export UZK_SIM_SEEDS=500
    # So do the cases that kill and restart the program for minutes, and snarkjs has judged the same proofs by then. Allocators
    # can't be compared under a sanitizer, which has its own.
    e2e='e2e/(kill_resume|interrupt|allocators|report)'
    # The emulated kernels run on one thread; of the GPU's tests the thread sanitizer gets the device's.
    suite asan -E "$e2e|unit/test_msm(/adx|/ifma)?\$|gpu/(test_gpu_msm|standin|emulated)"
    suite tsan -E "$e2e|e2e/bad_input|unit/test_(gaps|msm\$)|/(portable|adx|fma|ifma)\$|gpu/(test|standin|emu|check)"
    step "fuzz: configure" cmake --preset fuzz
    step "fuzz: build" cmake --build --preset fuzz
    step "fuzz: run" ctest --test-dir build/fuzz --no-tests=error -R '^fuzz/'
    unset UZK_SIM_SEEDS
    # What a GPU would run must compile and link wherever nvcc is; the kernels' results are tested by emulation above. The
    # oldest and the newest architecture, since each takes a minute.
    nvcc=$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)
    if [ -x "$nvcc" ]; then
        step "cuda: configure" cmake --preset cuda -DUZK_WERROR=ON -DCMAKE_CUDA_COMPILER="$nvcc" \
            "-DCMAKE_CUDA_ARCHITECTURES=75-real;90"
        step "cuda: build" cmake --build --preset cuda
        step "cuda: devices" build/cuda/uzk devices
    fi
fi
echo
ctest --test-dir build/release --no-tests=error
