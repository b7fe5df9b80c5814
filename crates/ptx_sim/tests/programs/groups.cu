#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
namespace cg = cooperative_groups;
// Cooperative groups: a reduction per tile of 16, a scan per warp, and a coalesced group after a branch. nvcc only.
extern "C" __global__ void groups(const int *in, int *sums, int *scans, int *odd) {
  auto block = cg::this_thread_block();
  auto tile = cg::tiled_partition<16>(block);
  auto warp = cg::tiled_partition<32>(block);
  int t = block.thread_rank(), v = in[t];
  int sum = cg::reduce(tile, v, cg::plus<int>());
  if (tile.thread_rank() == 0) sums[t / 16] = sum;
  scans[t] = cg::inclusive_scan(warp, v);
  block.sync();
  if (v % 2) {
    auto active = cg::coalesced_threads();
    if (active.thread_rank() == 0) atomicAdd(odd, (int)active.size());
  }
}
