#include "device.h"
// Tiles of 32 by 32 through shared memory with a padded row; blocks of 32 by 8.
extern "C" __global__ void transpose(const float *in, float *out, int width, int height) {
  __shared__ float tile[32][33];
  int x = blockIdx.x * 32 + threadIdx.x;
  for (int j = threadIdx.y; j < 32; j += 8) {
    int y = blockIdx.y * 32 + j;
    if (x < width && y < height) tile[j][threadIdx.x] = in[y * width + x];
  }
  __syncthreads();
  int column = blockIdx.y * 32 + threadIdx.x;
  for (int j = threadIdx.y; j < 32; j += 8) {
    int row = blockIdx.x * 32 + j;
    if (column < height && row < width) out[row * height + column] = tile[threadIdx.x][j];
  }
}
