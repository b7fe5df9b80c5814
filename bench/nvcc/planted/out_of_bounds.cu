// The grid is rounded up to whole blocks, and the kernel does not compare its index with the size.
#include "../programs/check.h"

__global__ void square(float* data, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    data[i] *= data[i];  // finds: out-of-bounds
}

int main() {
    const int n = 1000;
    float* data;
    OK(cudaMalloc(&data, n * sizeof(float)));
    OK(cudaMemset(data, 0, n * sizeof(float)));
    square<<<4, 256>>>(data, n);
    CHECK(cudaDeviceSynchronize() != cudaSuccess);
    return 0;
}
