// What both files have.
#pragma once
#include <cuda_runtime.h>

extern __constant__ int offset;
extern __device__ int calls;
__device__ int weigh(int value);
cudaError_t other_file(int* data);
