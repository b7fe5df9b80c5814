#include "device.h"
// Iterations until |z| > 2, divergent by nature.
extern "C" __global__ void mandelbrot(unsigned short *out, int width, int height, int limit) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height) return;
  double cr = -2.0 + 3.0 * x / width, ci = -1.0 + 2.0 * y / height, zr = 0, zi = 0;
  int n = 0;
  while (n < limit && zr * zr + zi * zi <= 4) {
    double t = zr * zr - zi * zi + cr;
    zi = 2 * zr * zi + ci;
    zr = t;
    n++;
  }
  out[y * width + x] = (unsigned short)n;
}
