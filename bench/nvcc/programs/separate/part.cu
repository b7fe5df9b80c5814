// The other file: a function and variables of the device that the first one uses.
#include "part.h"

__constant__ int offset = 7;
__device__ int calls;

__device__ int weigh(int value) {
    atomicAdd(&calls, 1);
    return value + offset;
}

__global__ void twice(int* data) { data[threadIdx.x] *= 2; }

cudaError_t other_file(int* data) {
    twice<<<1, 32>>>(data);
    return cudaDeviceSynchronize();
}
