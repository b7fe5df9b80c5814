#include <cuda_fp16.h>
#include <cuda_bf16.h>
// Arithmetic, comparisons and conversions of pairs of halves. nvcc only.
extern "C" __global__ void half_math(const __half2 *a, const __half2 *b, __half2 *out, __nv_bfloat162 *brains, float *sums, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  __half2 x = a[i], y = b[i];
  __half2 r = __hfma2(x, y, __hmax2(x, y));
  if (__hbgt2(x, y)) r = __hadd2(r, __hgt2(x, y));
  r = __hmin2(__habs2(r), __float2half2_rn(1000.0f));
  out[i] = r;
  float2 f = __half22float2(r);
  brains[i] = __floats2bfloat162_rn(f.x, f.y);
  sums[i] = f.x + f.y;
}
