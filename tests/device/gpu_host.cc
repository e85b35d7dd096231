/* gpu.h over groth16's CPU code, for tests of device_cuda.c: what is proven, from which bytes of the device's
 * memory and when, is real; only the kernels are not. All of a proof is computed in the last stage, by one
 * "kernel" on the stream's thread, from the points that were uploaded. */
#include "cuda/gpu.h"

#include "conf/check.h"
#include "gpu_runtime.h"

#include <cstring>

namespace
{

enum { POINTS_A, POINTS_B1, POINTS_B2, POINTS_C, POINTS_H, POINTS };

size_t padded(size_t bytes)
{
    return (bytes + 255) / 256 * 256;
}

size_t points_bytes(const struct circuit *circuit, int which)
{
    const struct zkey &key = circuit->key;
    switch (which) {
    case POINTS_B2:
        return static_cast<size_t>(key.wires) * ZKEY_G2_BYTES;
    case POINTS_C:
        return static_cast<size_t>(key.wires - key.publics - 1) * ZKEY_G1_BYTES;
    case POINTS_H:
        return (static_cast<size_t>(1) << key.domain_log2) * ZKEY_G1_BYTES;
    default:
        return static_cast<size_t>(key.wires) * ZKEY_G1_BYTES;
    }
}

/* The circuit with its points where they were uploaded to. */
struct circuit on_device(const struct gpu_circuit &gpu)
{
    struct circuit shadow = *gpu.circuit;
    const uint8_t **points[POINTS] = {&shadow.key.a, &shadow.key.b1, &shadow.key.b2, &shadow.key.c,
                                      &shadow.key.h};
    for (int i = 0; i < POINTS; ++i) {
        *points[i] = static_cast<const uint8_t *>(gpu.uploads[i].device);
    }
    return shadow;
}

} // namespace

size_t gpu_circuit_bytes(const struct circuit *circuit)
{
    size_t bytes = 0;
    for (int i = 0; i < POINTS; ++i) {
        bytes += padded(points_bytes(circuit, i));
    }
    return bytes;
}

void gpu_circuit_layout(struct gpu_circuit *gpu, const struct circuit *circuit, void *memory)
{
    const struct zkey &key = circuit->key;
    const uint8_t *hosts[POINTS] = {key.a, key.b1, key.b2, key.c, key.h};
    auto *at = static_cast<uint8_t *>(memory);
    *gpu = {};
    gpu->circuit = circuit;
    gpu->memory = memory;
    gpu->uploads_count = POINTS;
    for (int i = 0; i < POINTS; ++i) {
        gpu->uploads[i] = {hosts[i], at, points_bytes(circuit, i)};
        at += padded(gpu->uploads[i].bytes);
    }
}

cudaError_t gpu_circuit_prepare(const struct gpu_circuit *gpu, cudaStream_t stream)
{
    CHECK(gpu->uploads_count == POINTS);
    return gpu_runtime_launch(stream, [] {});
}

size_t gpu_lane_bytes(const struct circuit *circuit)
{
    return padded(sizeof(struct prove_sums)) + prove_scratch_size(circuit, 1);
}

cudaError_t gpu_prove_evaluate(const struct gpu_circuit *gpu, void *lane, const void *witness,
                               cudaStream_t stream)
{
    CHECK(gpu->circuit != nullptr && lane != nullptr && witness != nullptr);
    return gpu_runtime_launch(stream, [=] { memset(lane, 0, sizeof(struct prove_sums)); });
}

cudaError_t gpu_prove_ntt(const struct gpu_circuit *gpu, void *lane, cudaStream_t stream)
{
    CHECK(gpu->circuit != nullptr && lane != nullptr);
    return gpu_runtime_launch(stream, [] {});
}

cudaError_t gpu_prove_msm(const struct gpu_circuit *gpu, void *lane, const void *witness, cudaStream_t stream)
{
    struct gpu_circuit copy = *gpu;
    return gpu_runtime_launch(stream, [=] {
        struct circuit shadow = on_device(copy);
        struct par par = par_serial;
        prove_compute(static_cast<struct prove_sums *>(lane), &shadow, static_cast<const uint8_t *>(witness),
                      &par, static_cast<uint8_t *>(lane) + padded(sizeof(struct prove_sums)), nullptr,
                      nullptr);
    });
}

size_t gpu_sums_bytes(const struct gpu_circuit *gpu)
{
    (void)gpu;
    return sizeof(struct prove_sums);
}

const void *gpu_sums_address(const struct gpu_circuit *gpu, const void *lane)
{
    (void)gpu;
    return lane;
}

void gpu_sums_read(struct prove_sums *sums, const struct gpu_circuit *gpu, const void *host_copy)
{
    (void)gpu;
    memcpy(sums, host_copy, sizeof *sums);
}
