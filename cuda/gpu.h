/* gpu.h - one proof's work on an NVIDIA GPU, as calls that enqueue on a stream; between device_cuda.c, which
 * owns memory, streams and events, and the kernels.
 *
 * A struct gpu_circuit says where in one block of device memory a circuit's data lies and what has to be
 * copied there; a lane's block holds all that one proof needs beside that and its witness. Nothing here
 * allocates, waits or copies between host and device, so any thread may enqueue, on any stream; two proofs in
 * flight need two lanes' blocks. Of a circuit the sizes need the key's counts and ntt.log2 only.
 *
 * Blocks and the witness are aligned to 256 bytes. A witness is wires x 32 bytes as in device.h. Calls return
 * what a launch was refused with; faults of the device show later, on the stream. */
#ifndef CUDA_GPU_H
#define CUDA_GPU_H

#ifdef __cplusplus
extern "C" {
#endif

#include "groth16/circuit.h"
#include "groth16/prove.h"

#include <stddef.h>
#include <stdint.h>

#include <cuda_runtime.h>

enum { GPU_UPLOADS_MAX = 16, GPU_SUMS_BYTES_MAX = 1 << 18 };

/* To be copied before gpu_circuit_prepare; host memory of the circuit's. */
struct gpu_upload {
    const void *host;
    void *device;
    size_t bytes;
};

struct gpu_circuit {
    const struct circuit *circuit;
    void *memory;
    struct gpu_upload uploads[GPU_UPLOADS_MAX];
    unsigned uploads_count;
};

/* Device memory that a circuit takes, whatever number of lanes shares it. */
size_t gpu_circuit_bytes(const struct circuit *circuit);
void gpu_circuit_layout(struct gpu_circuit *gpu, const struct circuit *circuit, void *memory);

/* Once, behind the uploads and on their stream: what is derived on the device, such as twiddles and
 * multiples. */
cudaError_t gpu_circuit_prepare(const struct gpu_circuit *gpu, cudaStream_t stream);

/* Device memory of one proof, its witness excepted. What it holds afterwards is secret. */
size_t gpu_lane_bytes(const struct circuit *circuit);

/* The stages of a proof, in this order on one stream. */
cudaError_t gpu_prove_evaluate(const struct gpu_circuit *gpu, void *lane, const void *witness,
                               cudaStream_t stream);
cudaError_t gpu_prove_ntt(const struct gpu_circuit *gpu, void *lane, cudaStream_t stream);
cudaError_t gpu_prove_msm(const struct gpu_circuit *gpu, void *lane, const void *witness,
                          cudaStream_t stream);

/* What comes back: gpu_sums_bytes (at most GPU_SUMS_BYTES_MAX) from this address of the lane's block. Copied
 * to host memory, 64-byte aligned, gpu_sums_read makes sums of it: up to some ms of mathematics, on any
 * thread. */
size_t gpu_sums_bytes(const struct gpu_circuit *gpu);
const void *gpu_sums_address(const struct gpu_circuit *gpu, const void *lane);
void gpu_sums_read(struct prove_sums *sums, const struct gpu_circuit *gpu, const void *host_copy);

#ifdef __cplusplus
}
#endif
#endif
