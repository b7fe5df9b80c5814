// Threads read what others wrote to shared memory, and nothing separates the two.
#include "../programs/check.h"

__global__ void rotate(int* data) {
    __shared__ int tile[128];
    tile[threadIdx.x] = data[threadIdx.x];  // finds: race-war
    data[threadIdx.x] = tile[(threadIdx.x + 32) % 128];  // finds: race-raw, finds: uninit-store
}

int main() {
    int* data;
    OK(cudaMalloc(&data, 128 * sizeof(int)));
    OK(cudaMemset(data, 0, 128 * sizeof(int)));
    rotate<<<1, 128>>>(data);
    OK(cudaDeviceSynchronize());
    OK(cudaFree(data));
    return 0;
}
