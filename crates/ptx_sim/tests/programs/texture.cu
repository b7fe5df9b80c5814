#include "device.h"
// Samples a texture with a rotation, as image code does. nvcc only.
extern "C" __global__ void rotate(cudaTextureObject_t image, float *out, int width, int height, float sine, float cosine) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height) return;
  float u = x - width * 0.5f, v = y - height * 0.5f;
  out[y * width + x] = tex2D<float>(image, u * cosine - v * sine + width * 0.5f + 0.5f, u * sine + v * cosine + height * 0.5f + 0.5f);
}
