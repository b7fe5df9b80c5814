// The filter's window is one element too short, and the histogram of a thread lies behind it.
#include "../programs/check.h"

__global__ void filter(const int* in, int* out, int n, int radius) {
    int window[4];
    int counts[8] = {};
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    for (int k = -radius; k <= radius; k++) window[k + radius] = in[(i + k + n) % n];  // finds: out-of-bounds
    for (int k = 0; k <= 2 * radius; k++) counts[window[k] % 8]++;
    out[i] = counts[i % 8];
}

int main() {
    const int n = 256;
    int *in, *out;
    OK(cudaMalloc(&in, n * sizeof(int)));
    OK(cudaMalloc(&out, n * sizeof(int)));
    OK(cudaMemset(in, 0, n * sizeof(int)));
    filter<<<1, n>>>(in, out, n, 1);
    OK(cudaDeviceSynchronize());
    filter<<<1, n>>>(in, out, n, 2);
    CHECK(cudaDeviceSynchronize() != cudaSuccess);
    return 0;
}
