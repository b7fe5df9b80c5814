// The first three rungs of the reduction ladder in CUDA C++, with the names and parameters of our entries, so that our
// harness runs and times both:
//
//     nvcc -O3 -arch=native -cubin bench/peers/ladder.cu -o target/peers/ladder.cubin
//     host reduce --variant interleaved,interleaved_strided,sequential --dtype i32 --n 2^22 --block 128 --ptx target/peers/ladder.cubin
//
// The code is that of M. Harris, "Optimizing Parallel Reduction in CUDA" (kernels 1 to 3), plus the test of the length.

extern "C" __global__ void reduce_interleaved_sum_i32(const int* in, size_t n, int* out) {
    extern __shared__ int values[];
    unsigned tid = threadIdx.x;
    size_t i = blockIdx.x * (size_t)blockDim.x + tid;
    values[tid] = i < n ? in[i] : 0;
    __syncthreads();
    for (unsigned s = 1; s < blockDim.x; s *= 2) {
        if (tid % (2 * s) == 0) values[tid] += values[tid + s];
        __syncthreads();
    }
    if (tid == 0) out[blockIdx.x] = values[0];
}

extern "C" __global__ void reduce_interleaved_strided_sum_i32(const int* in, size_t n, int* out) {
    extern __shared__ int values[];
    unsigned tid = threadIdx.x;
    size_t i = blockIdx.x * (size_t)blockDim.x + tid;
    values[tid] = i < n ? in[i] : 0;
    __syncthreads();
    for (unsigned s = 1; s < blockDim.x; s *= 2) {
        unsigned index = 2 * s * tid;
        if (index < blockDim.x) values[index] += values[index + s];
        __syncthreads();
    }
    if (tid == 0) out[blockIdx.x] = values[0];
}

extern "C" __global__ void reduce_sequential_sum_i32(const int* in, size_t n, int* out) {
    extern __shared__ int values[];
    unsigned tid = threadIdx.x;
    size_t i = blockIdx.x * (size_t)blockDim.x + tid;
    values[tid] = i < n ? in[i] : 0;
    __syncthreads();
    for (unsigned s = blockDim.x / 2; s > 0; s /= 2) {
        if (tid < s) values[tid] += values[tid + s];
        __syncthreads();
    }
    if (tid == 0) out[blockIdx.x] = values[0];
}
