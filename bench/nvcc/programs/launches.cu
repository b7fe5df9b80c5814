// Launches by the API, attributes of kernels, occupancy, clusters, and cooperative launches.
#include "check.h"
#include <cooperative_groups.h>
#include <string>
namespace cg = cooperative_groups;

__global__ void __launch_bounds__(128) bounded(int* out, int value) { out[threadIdx.x] = value; }

__global__ void tiled(float* out) {
    __shared__ float tile[256];
    extern __shared__ float more[];
    tile[threadIdx.x] = threadIdx.x;
    more[threadIdx.x] = 1;
    __syncthreads();
    out[threadIdx.x] = tile[(threadIdx.x + 1) % blockDim.x] + more[threadIdx.x];
}

__global__ void clustered(int* out) {
    cg::cluster_group cluster = cg::this_cluster();
    __shared__ int mine;
    if (threadIdx.x == 0) mine = blockIdx.x + 1;
    cluster.sync();
    int* other = cluster.map_shared_rank(&mine, (cluster.block_rank() + 1) % cluster.num_blocks());
    if (threadIdx.x == 0) out[blockIdx.x] = *other;
    cluster.sync();
}

__global__ void groups(int* out) {
    auto block = cg::this_thread_block();
    auto tile = cg::tiled_partition<8>(block);
    int sum = threadIdx.x;
    for (int step = 4; step > 0; step /= 2) sum += tile.shfl_down(sum, step);
    if (tile.thread_rank() == 0) out[threadIdx.x / 8] = sum;
    block.sync();
    auto active = cg::coalesced_threads();
    if (active.thread_rank() == 0) atomicAdd(&out[31], active.size());
}

struct Wide { int values[20]; double last; };
__global__ void by_value(Wide wide, char tag, double* out) { *out = wide.values[19] + wide.last + tag; }

struct Bytes { __host__ __device__ size_t operator()(int block) const { return size_t(block) * 4; } };

int main() {
    int *out, host[1024];
    OK(cudaMalloc(&out, sizeof host));
    OK(cudaMemset(out, 0, sizeof host));
    int value = 9;
    void* arguments[] = {&out, &value};
    OK(cudaLaunchKernel((const void*)bounded, dim3(1), dim3(64), arguments, 0, 0));
    OK(cudaMemcpy(host, out, 256, cudaMemcpyDeviceToHost));
    CHECK(host[63] == 9);
    OK(cudaLaunchKernel(bounded, dim3(1), dim3(64), arguments, 0, 0));
    bounded<<<1, 256>>>(out, 1);
    CHECK(cudaGetLastError() != cudaSuccess);

    cudaFuncAttributes about;
    OK(cudaFuncGetAttributes(&about, bounded));
    CHECK(about.maxThreadsPerBlock == 128 && about.numRegs > 0 && about.sharedSizeBytes == 0);
    CHECK(about.ptxVersion == 90 && about.binaryVersion == 90);
    OK(cudaFuncGetAttributes(&about, tiled));
    CHECK(about.sharedSizeBytes == 1024 && about.maxDynamicSharedSizeBytes == 48 * 1024 - 1024);
    OK(cudaFuncSetAttribute(tiled, cudaFuncAttributePreferredSharedMemoryCarveout, 50));
    OK(cudaFuncSetCacheConfig(tiled, cudaFuncCachePreferShared));
    const char* name = nullptr;
    OK(cudaFuncGetName(&name, (const void*)by_value));
    CHECK(name && std::string(name).find("by_value") != std::string::npos);

    int blocks, size, least;
    OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, tiled, 256, 1024));
    CHECK(blocks == 8);
    OK(cudaOccupancyMaxPotentialBlockSize(&least, &size, tiled));
    CHECK(size == 1024 && least == 2 * 132);
    OK(cudaOccupancyMaxPotentialBlockSizeVariableSMem(&least, &size, tiled, Bytes()));
    CHECK(size > 0 && size <= 1024);
    size_t dynamic;
    OK(cudaOccupancyAvailableDynamicSMemPerBlock(&dynamic, tiled, 2, 256));
    CHECK(dynamic > 0);

    // A cluster of four.
    cudaLaunchConfig_t config = {};
    config.gridDim = 8, config.blockDim = 32;
    cudaLaunchAttribute attribute[1];
    attribute[0].id = cudaLaunchAttributeClusterDimension;
    attribute[0].val.clusterDim.x = 4, attribute[0].val.clusterDim.y = 1, attribute[0].val.clusterDim.z = 1;
    config.attrs = attribute, config.numAttrs = 1;
    int clusters;
    OK(cudaOccupancyMaxActiveClusters(&clusters, clustered, &config));
    CHECK(clusters > 0);
    OK(cudaLaunchKernelEx(&config, clustered, out));
    OK(cudaMemcpy(host, out, 32, cudaMemcpyDeviceToHost));
    CHECK(host[0] == 2 && host[3] == 1 && host[4] == 6 && host[7] == 5);

    OK(cudaMemset(out, 0, 128));
    groups<<<1, 64>>>(out);
    OK(cudaMemcpy(host, out, 128, cudaMemcpyDeviceToHost));
    CHECK(host[0] == 28 && host[7] == 28 + 8 * 56 && host[31] == 64);

    Wide wide = {};
    wide.values[19] = 3, wide.last = 0.5;
    double* number;
    OK(cudaMallocManaged(&number, sizeof *number));
    by_value<<<1, 1>>>(wide, 2, number);
    OK(cudaDeviceSynchronize());
    CHECK(*number == 5.5);
    OK(cudaFree(number));
    OK(cudaFree(out));
    return finish();
}
