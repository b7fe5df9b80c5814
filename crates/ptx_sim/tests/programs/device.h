// What the programs need of CUDA, for nvcc and for a clang without CUDA's headers.
#pragma once
#if defined(__clang__)
#define __device__ __attribute__((device))
#define __global__ __attribute__((global))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))
struct uint3 { unsigned x, y, z; };
struct dim3 { unsigned x, y, z; };
struct alignas(16) float4 { float x, y, z, w; };
#define __CLANG_CUDA_BUILTIN_VARS_ONLY
#include <__clang_cuda_builtin_vars.h>
extern "C" __device__ int vprintf(const char *, const char *);
extern "C" __device__ int printf(const char *, ...);
extern "C" __device__ void *malloc(unsigned long);
extern "C" __device__ void free(void *);
static __device__ inline float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }
static __device__ inline int __shfl_down_sync(unsigned m, int v, unsigned d) { return __nvvm_shfl_sync_down_i32(m, v, d, 31); }
static __device__ inline int __shfl_up_sync(unsigned m, int v, unsigned d) { return __nvvm_shfl_sync_up_i32(m, v, d, 0); }
static __device__ inline int __shfl_sync(unsigned m, int v, int l) { return __nvvm_shfl_sync_idx_i32(m, v, l, 31); }
static __device__ inline unsigned __ballot_sync(unsigned m, int p) { return __nvvm_vote_ballot_sync(m, p); }
static __device__ inline void __syncwarp(unsigned m = 0xffffffffu) { __nvvm_bar_warp_sync(m); }
static __device__ inline void __threadfence() { __nvvm_membar_gl(); }
static __device__ inline int atomicAdd(int *p, int v) { return __nvvm_atom_add_gen_i(p, v); }
static __device__ inline unsigned atomicAdd(unsigned *p, unsigned v) { return __nvvm_atom_add_gen_i((int *)p, (int)v); }
static __device__ inline float atomicAdd(float *p, float v) { return __nvvm_atom_add_gen_f(p, v); }
static __device__ inline unsigned atomicExch(unsigned *p, unsigned v) { return __nvvm_atom_xchg_gen_i((int *)p, (int)v); }
static __device__ inline int __popc(unsigned x) { return __builtin_popcount(x); }
static __device__ inline float sqrtf(float x) { return __nvvm_sqrt_rn_f(x); }
static __device__ inline float fabsf(float x) { return __builtin_fabsf(x); }
#ifdef DEVICE_HEAP
__device__ void *operator new(unsigned long n) { return malloc(n); }
__device__ void operator delete(void *p) noexcept { free(p); }
__device__ void operator delete(void *p, unsigned long) noexcept { free(p); }
#endif
#else
#include <cstdio>
#include <cstdlib>
#endif
