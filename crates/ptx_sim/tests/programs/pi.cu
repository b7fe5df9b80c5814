#include "device.h"
// Monte Carlo with Knuth's 64-bit linear congruential generator; hits are counted per warp by a vote.
extern "C" __global__ void pi(unsigned *hits, unsigned long long seed, int samples) {
  unsigned long long state = seed + 6364136223846793005ull * (blockIdx.x * blockDim.x + threadIdx.x);
  unsigned inside = 0;
  for (int i = 0; i < samples; i++) {
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    float x = (float)(unsigned)(state >> 40) * (1.0f / 16777216.0f);
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    float y = (float)(unsigned)(state >> 40) * (1.0f / 16777216.0f);
    inside += __popc(__ballot_sync(0xffffffffu, x * x + y * y < 1.0f));
  }
  if (threadIdx.x % 32 == 0) atomicAdd(hits, inside);
}
