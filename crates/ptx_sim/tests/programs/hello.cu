#include "device.h"
// Device-side printf with every kind of argument.
extern "C" __global__ void hello(int n) {
  if (threadIdx.x < n) printf("thread %d of %u: %s %c %5.2f %llx %%\n", threadIdx.x, blockDim.x, threadIdx.x % 2 ? "odd" : "even", 'a' + threadIdx.x, 0.5 * threadIdx.x, 0x123456789abcull + threadIdx.x);
}
