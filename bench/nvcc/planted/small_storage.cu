// CUB is given less temporary storage than it asked for, and writes past its end. finds in a header: out-of-bounds
#include "../programs/check.h"
#include <cub/cub.cuh>

int main() {
    const int n = 1 << 20;
    int *in, *out;
    OK(cudaMalloc(&in, n * sizeof(int)));
    OK(cudaMalloc(&out, n * sizeof(int)));
    OK(cudaMemset(in, 0, n * sizeof(int)));
    size_t bytes = 0;
    OK(cub::DeviceScan::InclusiveSum(nullptr, bytes, in, out, n));
    void* storage;
    OK(cudaMalloc(&storage, bytes / 2));
    OK(cub::DeviceScan::InclusiveSum(storage, bytes, in, out, n));
    CHECK(cudaDeviceSynchronize() != cudaSuccess);
    return 0;
}
