#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;
// Tiles of two and four warps, whose barriers and collectives lie in shared memory: in that of the block up to sm_75, in the
// bytes that the system reserves from sm_80 on. nvcc only.
template <int N> __device__ void collect(cg::thread_block const &block, int v, int *out) {
  auto tile = cg::tiled_partition<N>(block);
  int sum = cg::reduce(tile, v, cg::plus<int>());
  int second = tile.shfl(v, 1), any = tile.any(v == 70), all = tile.all(v < 64);
  if (tile.thread_rank() == 0) {
    out += 4 * tile.meta_group_rank();
    out[0] = sum, out[1] = second, out[2] = any, out[3] = all;
  }
}
extern "C" __global__ void collectives(const int *in, int *pairs, int *fours) {
  __shared__ cg::block_tile_memory<256> memory;
  auto block = cg::this_thread_block(memory);
  collect<64>(block, in[threadIdx.x], pairs);
  collect<128>(block, in[threadIdx.x], fours);
}
// Each thread gets the number of the one 64 away, through tiles of two and of four warps.
extern "C" __global__ void tiles(const int *in, int *out) {
  __shared__ cg::block_tile_memory<256> memory;
  __shared__ int copies[256];
  auto block = cg::this_thread_block(memory);
  auto pair = cg::tiled_partition<64>(block);
  auto four = cg::tiled_partition<128>(block);
  int t = threadIdx.x;
  copies[t] = in[t];
  pair.sync();
  int v = copies[t ^ 63];
  four.sync();
  copies[t ^ 127] = v;
  four.sync();
  out[t] = copies[t];
}
