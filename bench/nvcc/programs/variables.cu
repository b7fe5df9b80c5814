// Constants, variables of the device, managed variables, and their symbols.
#include "check.h"
#include <vector>

__constant__ int factors[4] = {1, 2, 3, 4};
__constant__ float weight = 0.5f;
__device__ int total;
__device__ int table[64];
__device__ double3 point = {1, 2, 3};
__managed__ int shared_count = 7;
__managed__ float samples[32];
static __device__ unsigned hidden = 11;
template <typename T> __device__ T zero;
struct Settings { int n; float scale; const int* data; };
__constant__ Settings settings;

__global__ void use(int* out) {
    int i = threadIdx.x;
    out[i] = factors[i % 4] * i;
    table[i] = out[i] + int(weight * 4) + int(hidden);
    atomicAdd(&total, i);
    atomicAdd(&shared_count, 1);
    if (i < 32) samples[i] = i;
    if (i == 0) zero<long long> = 3;
}

__global__ void scaled(float* out) {
    if (threadIdx.x < settings.n) out[threadIdx.x] = settings.data[threadIdx.x] * settings.scale;
}

int main() {
    CHECK(shared_count == 7);
    shared_count = 100;
    int* out;
    OK(cudaMalloc(&out, 64 * sizeof(int)));
    use<<<1, 64>>>(out);
    OK(cudaDeviceSynchronize());
    CHECK(shared_count == 164);
    CHECK(samples[5] == 5);
    int host[64], sum = -1;
    OK(cudaMemcpyFromSymbol(&sum, total, sizeof sum));
    CHECK(sum == 64 * 63 / 2);
    OK(cudaMemcpyFromSymbol(host, table, sizeof host));
    bool right = true;
    for (int i = 0; i < 64; ++i) right &= host[i] == (i % 4 + 1) * i + 2 + 11;
    CHECK(right);
    int changed[2] = {30, 40};
    OK(cudaMemcpyToSymbol(factors, changed, sizeof changed, 2 * sizeof(int)));
    float half = 2;
    OK(cudaMemcpyToSymbolAsync(weight, &half, sizeof half, 0, cudaMemcpyHostToDevice, 0));
    use<<<1, 64>>>(out);
    OK(cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost));
    CHECK(host[1] == 2 && host[2] == 60 && host[3] == 120);
    OK(cudaMemcpyFromSymbol(host, table, 4, 4 * sizeof(int)));
    CHECK(host[0] == 4 + 8 + 11);
    size_t size = 0;
    void* address = nullptr;
    OK(cudaGetSymbolSize(&size, table));
    CHECK(size == 256);
    OK(cudaGetSymbolAddress(&address, table));
    OK(cudaMemset(address, 0, 256));
    OK(cudaMemcpyFromSymbol(host, table, sizeof host));
    CHECK(host[3] == 0);
    long long three;
    OK(cudaMemcpyFromSymbol(&three, zero<long long>, sizeof three));
    CHECK(three == 3);
    double3 read;
    OK(cudaMemcpyFromSymbol(&read, point, sizeof read));
    CHECK(read.x == 1 && read.z == 3);
    IS(cudaErrorInvalidValue, cudaMemcpyFromSymbol(host, table, 8, 252));
    IS(cudaErrorInvalidSymbol, cudaGetSymbolSize(&size, host[0]));
    CHECK(cudaGetLastError() == cudaErrorInvalidSymbol);
    Settings given = {32, 1.5f, nullptr};
    OK(cudaGetSymbolAddress((void**)&given.data, table));
    OK(cudaMemcpyToSymbol(settings, &given, sizeof given));
    use<<<1, 64>>>(out);
    float* floats;
    OK(cudaMalloc(&floats, 32 * sizeof(float)));
    scaled<<<1, 64>>>(floats);
    float f[32];
    OK(cudaMemcpy(f, floats, sizeof f, cudaMemcpyDefault));
    CHECK(f[3] == 1.5f * (120 + 8 + 11));
    void* managed;
    OK(cudaGetSymbolAddress(&managed, shared_count));
    CHECK(managed == &shared_count);
    OK(cudaFree(out));
    OK(cudaFree(floats));
    return finish();
}
