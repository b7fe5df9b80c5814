// Generates the same numbers of the standard normal distribution as crates/ladders/src/input/normal.rs.
#pragma once
#include "peer.h"

// Number of 64 random bits: a multiple of 2^-20, so that a last bit in which logarithms and cosines of host and device differ has no effect but
// for one number in about 2^30. There are no sums, which nvcc would fuse with products.
__device__ inline double normal(uint64_t random) {
    const double TAU = 6.283185307179586;
    double radius = sqrt(-2.0 * log((double)((random >> 24) + 1) / (double)(1ull << 40)));
    double turns = (double)(random & 0xffffff) / (double)(1 << 24);
    return rint(radius * cos(TAU * turns) * (double)(1 << 20)) / (double)(1 << 20);
}

__device__ inline void from_normal(double x, float& to) { to = (float)x; }
__device__ inline void from_normal(double x, double& to) { to = x; }
__device__ inline void from_normal(double x, __half& to) { to = __float2half_rn((float)x); }
__device__ inline void from_normal(double x, __nv_bfloat16& to) { to = __float2bfloat16_rn((float)x); }
__device__ inline void from_normal(double x, __nv_fp8_e4m3& to) { to = __nv_fp8_e4m3((float)x); }
// Of standard deviation 32.
__device__ inline void from_normal(double x, int8_t& to) { to = (int8_t)fmin(fmax(rint(x * 32.0), -128.0), 127.0); }

template <typename T>
__global__ void normal_kernel(T* out, size_t n, uint64_t seed) {
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x) {
        from_normal(normal(split_mix(seed, i)), out[i]);
    }
}

// Operand k of the distribution that was asked for, as `host` generates it.
template <typename T>
T* generate(const Request& request, size_t n, int operand) {
    T* memory = request.generate<T>(n, operand);
    if (request.value("distribution", "uniform") == "normal") {
        normal_kernel<<<1024, 256>>>(memory, n, request.seed + operand);
        CHECK(cudaGetLastError());
    }
    return memory;
}
