/* In place of device_cuda.c where there is no CUDA to build with. */
#include "conf/check.h"
#include "cuda/device_cuda.h"

static enum error_code absent(struct error *error)
{
    return error_set(error, ERROR_INPUT, "this build has no CUDA device: it was built without nvcc");
}

unsigned device_cuda_count(struct error *why)
{
    (void)absent(why);
    return 0;
}

enum error_code device_cuda_info(struct device_cuda_info *info, unsigned index, struct error *error)
{
    (void)info;
    (void)index;
    return absent(error);
}

uint64_t device_cuda_bytes(const struct circuit *circuit, unsigned lanes)
{
    CHECK(circuit != NULL && lanes > 0);
    return 0;
}

enum error_code device_cuda_open(struct device_cuda *cuda, const struct device_cuda_settings *settings,
                                 struct error *error)
{
    (void)cuda;
    (void)settings;
    return absent(error);
}
