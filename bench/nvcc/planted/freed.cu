// A kernel uses memory after it was freed.
#include "../programs/check.h"

__global__ void read(const int* data, int* out) {
    *out = data[3];  // finds: use-after-free
}

int main() {
    int *data, *out;
    OK(cudaMalloc(&data, 64));
    OK(cudaMalloc(&out, 64));
    OK(cudaMemset(data, 0, 64));
    OK(cudaFree(data));
    read<<<1, 1>>>(data, out);
    CHECK(cudaDeviceSynchronize() != cudaSuccess);
    return 0;
}
