#include "device.h"
// c = a b for square matrices of any size, in tiles of 16.
extern "C" __global__ void matmul(const float *a, const float *b, float *c, int n) {
  __shared__ float as[16][16], bs[16][16];
  int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  float sum = 0;
  for (int tile = 0; tile < n; tile += 16) {
    int ac = tile + threadIdx.x, br = tile + threadIdx.y;
    as[threadIdx.y][threadIdx.x] = row < n && ac < n ? a[row * n + ac] : 0;
    bs[threadIdx.y][threadIdx.x] = br < n && column < n ? b[br * n + column] : 0;
    __syncthreads();
    for (int k = 0; k < 16; k++) sum += as[threadIdx.y][k] * bs[k][threadIdx.x];
    __syncthreads();
  }
  if (row < n && column < n) c[row * n + column] = sum;
}
