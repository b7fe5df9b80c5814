// The host reads page-locked memory that a kernel writes, and has not waited for it.
#include "../programs/check.h"

__global__ void fill(int* data) { data[blockIdx.x * blockDim.x + threadIdx.x] = 7; }  // finds: race-host

int main() {
    const int n = 4096;
    int* pinned;
    cudaStream_t stream;
    OK(cudaMallocHost(&pinned, n * sizeof(int)));
    OK(cudaStreamCreate(&stream));
    fill<<<n / 256, 256, 0, stream>>>(pinned);
    int first = pinned[0];
    OK(cudaStreamSynchronize(stream));
    printf("%d\n", first);
    OK(cudaFreeHost(pinned));
    return 0;
}
