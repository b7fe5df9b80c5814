// A kernel adds to memory that nothing has written.
#include "../programs/check.h"

__global__ void add(const int* from, int* to) {
    to[threadIdx.x] = to[threadIdx.x] + from[threadIdx.x];  // finds: uninit-store
}

int main() {
    int *from, *to;
    OK(cudaMalloc(&from, 64 * sizeof(int)));
    OK(cudaMalloc(&to, 64 * sizeof(int)));
    OK(cudaMemset(from, 0, 64 * sizeof(int)));
    add<<<1, 64>>>(from, to);
    OK(cudaDeviceSynchronize());
    return 0;
}
