#include "device.h"
// Inclusive prefix sum of one block, after Hillis and Steele, in dynamic shared memory.
extern __shared__ int buffer[];
extern "C" __global__ void scan(const int *in, int *out) {
  int t = threadIdx.x, n = blockDim.x, from = 0;
  buffer[t] = in[t];
  __syncthreads();
  for (int d = 1; d < n; d *= 2) {
    buffer[(1 - from) * n + t] = buffer[from * n + t] + (t >= d ? buffer[from * n + t - d] : 0);
    from = 1 - from;
    __syncthreads();
  }
  out[t] = buffer[from * n + t];
}
