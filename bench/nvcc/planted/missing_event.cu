// Two streams use the same memory, and no event orders them.
#include "../programs/check.h"

__global__ void produce(int* data) { data[threadIdx.x] = threadIdx.x; }

__global__ void consume(const int* data, int* out) { out[threadIdx.x] = data[threadIdx.x]; }  // finds: race-streams

int main() {
    int *data, *out;
    cudaStream_t first, second;
    OK(cudaMalloc(&data, 256 * sizeof(int)));
    OK(cudaMalloc(&out, 256 * sizeof(int)));
    OK(cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking));
    OK(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking));
    produce<<<1, 256, 0, first>>>(data);
    consume<<<1, 256, 0, second>>>(data, out);
    OK(cudaDeviceSynchronize());
    return 0;
}
