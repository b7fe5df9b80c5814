// Code in two files, linked on the device (`-rdc=true`).
#include "check.h"
#include "separate/part.h"

__constant__ int scale = 3;

__global__ void apply(int* data) { data[threadIdx.x] = weigh(threadIdx.x) * scale; }

int main() {
    int* data;
    OK(cudaMallocManaged(&data, 32 * sizeof(int)));
    apply<<<1, 32>>>(data);
    OK(cudaDeviceSynchronize());
    CHECK(data[5] == (5 + 7) * 3);
    OK(other_file(data));
    CHECK(data[5] == (5 + 7) * 3 * 2);
    int number = 11, read = 0;
    OK(cudaMemcpyToSymbol(offset, &number, sizeof number));
    apply<<<1, 32>>>(data);
    OK(cudaMemcpyFromSymbol(&read, calls, sizeof read));
    OK(cudaDeviceSynchronize());
    CHECK(data[5] == (5 + 11) * 3 && read == 64);
    OK(cudaFree(data));
    return finish();
}
