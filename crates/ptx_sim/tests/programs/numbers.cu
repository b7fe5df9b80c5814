#include "device.h"
// 64-bit division and remainder, a structure passed by value, local arrays indexed at run time, 128-bit products.
struct Options { long long divisor; int rounds; short offset; unsigned char flags[5]; };
extern "C" __global__ void numbers(const long long *in, long long *out, Options options, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  long long digits[8];
  long long x = in[i];
  for (int d = 0; d < 8; d++) { digits[d] = x % options.divisor; x /= options.divisor; }
  long long sum = options.offset;
  for (int r = 0; r < options.rounds; r++) sum = sum * 31 + digits[(i + r * 3) & 7] + options.flags[(i + r) % 5];
  unsigned __int128 product = (unsigned __int128)(unsigned long long)in[i] * 0x9e3779b97f4a7c15ull;
  out[i] = sum ^ (long long)(product >> 64);
}
