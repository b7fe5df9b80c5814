// Static and dynamic shared memory, atomics, warp functions, and printf.
#include "check.h"
#include <numeric>
#include <vector>

template <int BLOCK> __global__ void sums(const int* in, long long* out, int n) {
    __shared__ int partial[BLOCK];
    int i = blockIdx.x * BLOCK + threadIdx.x;
    partial[threadIdx.x] = i < n ? in[i] : 0;
    __syncthreads();
    for (int step = BLOCK / 2; step > 0; step /= 2) {
        if (threadIdx.x < step) partial[threadIdx.x] += partial[threadIdx.x + step];
        __syncthreads();
    }
    if (threadIdx.x == 0) atomicAdd((unsigned long long*)out, (unsigned long long)partial[0]);
}

__global__ void reverse(int* data, int n) {
    extern __shared__ int tile[];
    for (int i = threadIdx.x; i < n; i += blockDim.x) tile[i] = data[i];
    __syncthreads();
    for (int i = threadIdx.x; i < n; i += blockDim.x) data[i] = tile[n - 1 - i];
}

__global__ void warps(int* out) {
    int lane = threadIdx.x % 32, value = threadIdx.x;
    for (int step = 16; step > 0; step /= 2) value += __shfl_xor_sync(~0u, value, step);
    unsigned odd = __ballot_sync(~0u, lane & 1);
    int reduced = __reduce_add_sync(~0u, lane);
    unsigned same = __match_any_sync(~0u, lane / 4);
    out[threadIdx.x] = value + (odd == 0xaaaaaaaau) + reduced + __popc(same) + __any_sync(~0u, lane == 3);
}

__global__ void atomics(int* ints, float* floats, double* doubles, unsigned long long* longs) {
    int i = threadIdx.x;
    atomicAdd(&ints[0], 1);
    atomicMax(&ints[1], i);
    atomicMin(&ints[2], -i);
    atomicOr(&ints[3], 1 << (i % 32));
    atomicXor(&ints[4], i);
    atomicInc((unsigned*)&ints[5], 9);
    atomicExch(&ints[6], 77);
    atomicCAS(&ints[7], 0, 5);
    atomicAdd(&floats[0], 0.5f);
    atomicAdd(&doubles[0], 0.25);
    atomicAdd_block(&longs[0], 2);
    atomicMax_system(&longs[1], (unsigned long long)i << 33);
}

__global__ void prints(int n) {
    if (threadIdx.x == n) printf("thread %d of block %d: %s %5.2f %x\n", threadIdx.x, blockIdx.x, "text", 1.5, 255);
}

int main() {
    const int n = 10000;
    std::vector<int> values(n);
    std::iota(values.begin(), values.end(), -10);
    int* in;
    long long *out, sum;
    OK(cudaMalloc(&in, n * sizeof(int)));
    OK(cudaMalloc(&out, sizeof *out));
    OK(cudaMemcpy(in, values.data(), n * sizeof(int), cudaMemcpyHostToDevice));
    OK(cudaMemset(out, 0, sizeof *out));
    sums<256><<<(n + 255) / 256, 256>>>(in, out, n);
    OK(cudaGetLastError());
    OK(cudaMemcpy(&sum, out, sizeof sum, cudaMemcpyDeviceToHost));
    CHECK(sum == std::accumulate(values.begin(), values.end(), 0LL));

    reverse<<<1, 128, n * sizeof(int)>>>(in, n);
    OK(cudaGetLastError());
    int first;
    OK(cudaMemcpy(&first, in, sizeof first, cudaMemcpyDeviceToHost));
    CHECK(first == values[n - 1]);
    // More than 48 KiB need a request.
    int *big, most = 0, wide = 20000;
    OK(cudaMalloc(&big, wide * sizeof(int)));
    OK(cudaMemset(big, 0, wide * sizeof(int)));
    reverse<<<1, 256, wide * sizeof(int)>>>(big, wide);
    IS(cudaErrorInvalidValue, cudaGetLastError());
    OK(cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0));
    CHECK(most >= wide * 4);
    OK(cudaFuncSetAttribute(reverse, cudaFuncAttributeMaxDynamicSharedMemorySize, wide * sizeof(int)));
    reverse<<<1, 256, wide * sizeof(int)>>>(big, wide);
    OK(cudaGetLastError());
    OK(cudaDeviceSynchronize());

    int* lanes;
    OK(cudaMalloc(&lanes, 64 * sizeof(int)));
    warps<<<1, 64>>>(lanes);
    int got[64];
    OK(cudaMemcpy(got, lanes, sizeof got, cudaMemcpyDeviceToHost));
    CHECK(got[0] == 496 + 1 + 496 + 4 + 1 && got[40] == 496 + 1024 + 1 + 496 + 4 + 1);

    int* ints;
    float* floats;
    double* doubles;
    unsigned long long* longs;
    OK(cudaMallocManaged(&ints, 64));
    OK(cudaMallocManaged(&floats, 8));
    OK(cudaMallocManaged(&doubles, 8));
    OK(cudaMallocManaged(&longs, 16));
    for (int i = 0; i < 16; ++i) ints[i] = 0;
    floats[0] = 0, doubles[0] = 0, longs[0] = longs[1] = 0;
    atomics<<<1, 100>>>(ints, floats, doubles, longs);
    OK(cudaDeviceSynchronize());
    CHECK(ints[0] == 100 && ints[1] == 99 && ints[2] == -99 && ints[3] == -1);
    CHECK(ints[4] == (96 ^ 97 ^ 98 ^ 99) && ints[5] == 0 && ints[6] == 77 && ints[7] == 5);
    CHECK(floats[0] == 50 && doubles[0] == 25 && longs[0] == 200 && longs[1] == 99ull << 33);

    fflush(stdout);
    prints<<<2, 32>>>(5);
    OK(cudaDeviceSynchronize());
    for (void* memory : {(void*)in, (void*)out, (void*)big, (void*)lanes, (void*)ints, (void*)floats, (void*)doubles, (void*)longs})
        OK(cudaFree(memory));
    return finish();
}
