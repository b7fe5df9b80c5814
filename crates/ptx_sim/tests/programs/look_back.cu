#include "device.h"
// Exclusive prefix sum over all blocks with decoupled look-back (Merrill and Garland, 2016): a block publishes its sum, then
// its prefix; state 1 and 2 in the upper half of a 64-bit word.
extern "C" __global__ void look_back(const unsigned *in, unsigned *out, volatile unsigned long long *states, unsigned *ticket) {
  __shared__ unsigned block, prefix;
  __shared__ unsigned sums[4];
  if (threadIdx.x == 0) block = atomicAdd(ticket, 1u);
  __syncthreads();
  unsigned i = block * 128 + threadIdx.x, lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  unsigned value = in[i], sum = value;
  for (int d = 1; d < 32; d *= 2) {
    unsigned other = __shfl_up_sync(0xffffffffu, (int)sum, d);
    if (lane >= d) sum += other;
  }
  if (lane == 31) sums[warp] = sum;
  __syncthreads();
  unsigned before = 0, total = 0;
  for (unsigned w = 0; w < 4; w++) { if (w < warp) before += sums[w]; total += sums[w]; }
  if (threadIdx.x == 0) {
    unsigned sofar = 0;
    if (block > 0) {
      states[block] = 1ull << 32 | total;
      for (unsigned b = block; b-- > 0;) {
        unsigned long long state;
        do { state = states[b]; } while (state >> 32 == 0);
        sofar += (unsigned)state;
        if (state >> 32 == 2) break;
      }
    }
    states[block] = 2ull << 32 | (sofar + total);
    prefix = sofar;
  }
  __syncthreads();
  out[i] = prefix + before + sum - value;
}
