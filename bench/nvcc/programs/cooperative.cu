// A cooperative launch whose blocks wait for one another (`-rdc=true`, which brings libcudadevrt).
#include "check.h"
#include <cooperative_groups.h>
#include <vector>
namespace cg = cooperative_groups;

__global__ void sum(int* data, int n, int* total) {
    cg::grid_group grid = cg::this_grid();
    for (int i = grid.thread_rank(); i < n; i += grid.size()) data[i] *= 2;
    grid.sync();
    for (int i = grid.thread_rank(); i < n; i += grid.size()) atomicAdd(total, data[n - 1 - i]);
    grid.sync();
    if (grid.thread_rank() == 0) *total += 1;
}

int main() {
    int can = 0, n = 5000, *data, *total;
    OK(cudaDeviceGetAttribute(&can, cudaDevAttrCooperativeLaunch, 0));
    CHECK(can == 1);
    OK(cudaMallocManaged(&data, n * sizeof(int)));
    OK(cudaMallocManaged(&total, sizeof(int)));
    for (int i = 0; i < n; ++i) data[i] = i % 10;
    *total = 0;
    void* arguments[] = {&data, &n, &total};
    OK(cudaLaunchCooperativeKernel(sum, 16, 128, arguments));
    OK(cudaDeviceSynchronize());
    CHECK(*total == 2 * 22500 + 1);
    IS(cudaErrorCooperativeLaunchTooLarge, cudaLaunchCooperativeKernel(sum, 100000, 128, arguments));
    OK(cudaFree(data));
    return finish();
}
