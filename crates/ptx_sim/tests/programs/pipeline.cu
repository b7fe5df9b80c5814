#include <cuda_pipeline.h>
// Copies to shared memory two tiles ahead of the sum that uses them. nvcc only, sm_80 and later.
extern "C" __global__ void pipeline(const float4 *in, float *out, int tiles) {
  __shared__ float4 stages[2][64];
  float sum = 0;
  const float4 *mine = in + blockIdx.x * tiles * 64;
  __pipeline_memcpy_async(&stages[0][threadIdx.x], mine + threadIdx.x, 16);
  __pipeline_commit();
  for (int tile = 0; tile < tiles; tile++) {
    if (tile + 1 < tiles) __pipeline_memcpy_async(&stages[(tile + 1) & 1][threadIdx.x], mine + (tile + 1) * 64 + threadIdx.x, 16);
    __pipeline_commit();
    __pipeline_wait_prior(1);
    __syncthreads();
    float4 v = stages[tile & 1][63 - threadIdx.x];
    sum += v.x + v.y + v.z + v.w;
    __syncthreads();
  }
  out[blockIdx.x * 64 + threadIdx.x] = sum;
}
