// Streams, events, functions of the host, pools, and the thread's own stream.
#include "check.h"
#include <atomic>
#include <thread>
#include <vector>

__global__ void add(int* data, int n, int value) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) data[i] += value;
}

static std::atomic<int> called;
static void CUDART_CB count(void* number) { called += *(int*)number; }
static void CUDART_CB with_status(cudaStream_t, cudaError_t status, void* number) { called += status == cudaSuccess ? *(int*)number : 1000; }

int main() {
    const int n = 4096;
    cudaStream_t first, second, low;
    OK(cudaStreamCreate(&first));
    OK(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking));
    int least, greatest, priority;
    OK(cudaDeviceGetStreamPriorityRange(&least, &greatest));
    CHECK(greatest <= least);
    OK(cudaStreamCreateWithPriority(&low, cudaStreamDefault, least));
    OK(cudaStreamGetPriority(low, &priority));
    CHECK(priority == least);
    unsigned flags;
    OK(cudaStreamGetFlags(second, &flags));
    CHECK(flags == cudaStreamNonBlocking);
    unsigned long long one, two;
    OK(cudaStreamGetId(first, &one));
    OK(cudaStreamGetId(second, &two));
    CHECK(one != two);

    cudaEvent_t ready, start, end;
    OK(cudaEventCreateWithFlags(&ready, cudaEventDisableTiming));
    OK(cudaEventCreate(&start));
    OK(cudaEventCreate(&end));
    int *data, *pinned;
    OK(cudaMallocAsync(&data, n * sizeof(int), first));
    OK(cudaMallocHost(&pinned, n * sizeof(int)));
    for (int i = 0; i < n; ++i) pinned[i] = i;
    OK(cudaEventRecord(start, first));
    OK(cudaMemcpyAsync(data, pinned, n * sizeof(int), cudaMemcpyHostToDevice, first));
    add<<<16, 256, 0, first>>>(data, n, 1);
    OK(cudaEventRecord(ready, first));
    OK(cudaStreamWaitEvent(second, ready));
    add<<<16, 256, 0, second>>>(data, n, 10);
    OK(cudaMemcpyAsync(pinned, data, n * sizeof(int), cudaMemcpyDeviceToHost, second));
    OK(cudaEventRecord(end, second));
    OK(cudaEventSynchronize(end));
    OK(cudaEventQuery(end));
    OK(cudaStreamQuery(second));
    float milliseconds = -1;
    OK(cudaEventElapsedTime(&milliseconds, start, end));
    CHECK(milliseconds >= 0);
    IS(cudaErrorInvalidResourceHandle, cudaEventElapsedTime(&milliseconds, ready, end));
    CHECK(cudaGetLastError() == cudaErrorInvalidResourceHandle);
    CHECK(pinned[0] == 11 && pinned[n - 1] == n + 10);

    int number = 3, other = 4;
    OK(cudaLaunchHostFunc(first, count, &number));
    OK(cudaStreamAddCallback(first, with_status, &other, 0));
    OK(cudaStreamSynchronize(first));
    CHECK(called == 7);
    OK(cudaFreeAsync(data, second));
    OK(cudaStreamSynchronize(second));

    // A pool, and memory from it.
    cudaMemPool_t pool;
    OK(cudaDeviceGetDefaultMemPool(&pool, 0));
    unsigned long long keep = ~0ull, read = 0;
    OK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keep));
    OK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &read));
    CHECK(read == keep);
    cudaMemPoolProps props = {};
    props.allocType = cudaMemAllocationTypePinned;
    props.location.type = cudaMemLocationTypeDevice;
    cudaMemPool_t own;
    OK(cudaMemPoolCreate(&own, &props));
    OK(cudaMallocFromPoolAsync(&data, 1024, own, first));
    OK(cudaMemsetAsync(data, 1, 1024, first));
    OK(cudaMemcpyAsync(pinned, data, 1024, cudaMemcpyDefault, first));
    OK(cudaFreeAsync(data, first));
    OK(cudaStreamSynchronize(first));
    CHECK(pinned[255] == 0x01010101);
    OK(cudaMemPoolDestroy(own));

    // Threads with streams of their own.
    std::vector<std::thread> threads;
    std::atomic<int> right{0};
    for (int t = 0; t < 4; ++t)
        threads.emplace_back([&, t] {
            int *mine, back[64];
            cudaMalloc(&mine, sizeof back);
            cudaMemsetAsync(mine, 0, sizeof back, cudaStreamPerThread);
            add<<<1, 64, 0, cudaStreamPerThread>>>(mine, 64, t);
            cudaMemcpyAsync(back, mine, sizeof back, cudaMemcpyDeviceToHost, cudaStreamPerThread);
            cudaStreamSynchronize(cudaStreamPerThread);
            right += back[63] == t && cudaFree(mine) == cudaSuccess;
        });
    for (auto& thread : threads) thread.join();
    CHECK(right == 4);
    for (auto event : {ready, start, end}) OK(cudaEventDestroy(event));
    for (auto stream : {first, second, low}) OK(cudaStreamDestroy(stream));
    OK(cudaFreeHost(pinned));
    return finish();
}
