// Stream 0 as the thread's own default stream (`--default-stream per-thread`).
#include "check.h"
#include <atomic>
#include <thread>
#include <vector>

__global__ void twice(int* data) { data[threadIdx.x] *= 2; }

int main() {
    std::atomic<int> right{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
        threads.emplace_back([&, t] {
            int *data, host[32];
            for (int& value : host) value = t;
            bool ok = cudaMalloc(&data, sizeof host) == cudaSuccess;
            ok &= cudaMemcpyAsync(data, host, sizeof host, cudaMemcpyHostToDevice, 0) == cudaSuccess;
            twice<<<1, 32>>>(data);
            ok &= cudaGetLastError() == cudaSuccess;
            ok &= cudaMemcpy(host, data, sizeof host, cudaMemcpyDeviceToHost) == cudaSuccess;
            ok &= cudaStreamSynchronize(0) == cudaSuccess && cudaFree(data) == cudaSuccess;
            right += ok && host[31] == 2 * t;
        });
    for (auto& thread : threads) thread.join();
    CHECK(right == 4);
    unsigned long long own, explicitly, legacy;
    OK(cudaStreamGetId(0, &own));
    OK(cudaStreamGetId(cudaStreamPerThread, &explicitly));
    OK(cudaStreamGetId(cudaStreamLegacy, &legacy));
    CHECK(own == explicitly && own != legacy);
    return finish();
}
