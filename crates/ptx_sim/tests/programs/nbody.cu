#include "device.h"
// One step of gravity among n bodies (x, y, z, mass); velocities are updated.
extern "C" __global__ void nbody(const float4 *bodies, float4 *velocities, int n, float dt) {
  __shared__ float4 tile[64];
  int i = blockIdx.x * 64 + threadIdx.x;
  float4 me = i < n ? bodies[i] : make_float4(0, 0, 0, 0);
  float ax = 0, ay = 0, az = 0;
  for (int start = 0; start < n; start += 64) {
    int j = start + threadIdx.x;
    tile[threadIdx.x] = j < n ? bodies[j] : make_float4(0, 0, 0, 0);
    __syncthreads();
    for (int k = 0; k < 64; k++) {
      float4 other = tile[k];
      float dx = other.x - me.x, dy = other.y - me.y, dz = other.z - me.z;
      float square = dx * dx + dy * dy + dz * dz + 0.01f;
      float inverse = 1.0f / sqrtf(square);
      float force = other.w * inverse * inverse * inverse;
      ax += dx * force; ay += dy * force; az += dz * force;
    }
    __syncthreads();
  }
  if (i < n) {
    float4 v = velocities[i];
    velocities[i] = make_float4(v.x + ax * dt, v.y + ay * dt, v.z + az * dt, v.w);
  }
}
