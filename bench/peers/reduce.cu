// CUB's DeviceReduce, measured the way `host bench` measures our own variants: the same input, warm-up, cache state and median.
//
//     nvcc -O3 -std=c++17 -arch=native bench/peers/reduce.cu -o target/peers/reduce
//     target/peers/reduce OP DTYPE N SEED REPEAT CACHE GPU      e.g. sum f32 4194304 42 21 cold 0
//
// prints one JSON line per library. `host bench reduce --peers` calls it and compares the value with our reference.
#include <cub/cub.cuh>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <algorithm>
#include <vector>

#define CHECK(call)                                                                                        \
    do {                                                                                                   \
        cudaError_t error = (call);                                                                        \
        if (error != cudaSuccess) {                                                                        \
            fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, cudaGetErrorString(error));      \
            exit(1);                                                                                       \
        }                                                                                                  \
    } while (0)

// SplitMix64, output i: the input of `host` with --n and --seed.
__device__ uint64_t split_mix(uint64_t seed, uint64_t i) {
    uint64_t z = seed + 0x9e3779b97f4a7c15ull * (i + 1);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
}

__device__ void from_random(uint64_t x, float& to) { to = (float)((int)(x >> 40) - (1 << 23)) / (1 << 23); }
__device__ void from_random(uint64_t x, double& to) { to = (double)((int)(x >> 40) - (1 << 23)) / (1 << 23); }
__device__ void from_random(uint64_t x, int32_t& to) { to = (int32_t)(x >> 32); }
__device__ void from_random(uint64_t x, uint32_t& to) { to = (uint32_t)(x >> 32); }
__device__ void from_random(uint64_t x, int64_t& to) { to = (int64_t)x; }
__device__ void from_random(uint64_t x, uint64_t& to) { to = x; }

template <typename T>
__global__ void generate(T* out, size_t n, uint64_t seed) {
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x) {
        from_random(split_mix(seed, i), out[i]);
    }
}

static void text(char* out, size_t size, float x) { snprintf(out, size, "%.9g", x); }
static void text(char* out, size_t size, double x) { snprintf(out, size, "%.17g", x); }
static void text(char* out, size_t size, int32_t x) { snprintf(out, size, "%d", x); }
static void text(char* out, size_t size, uint32_t x) { snprintf(out, size, "%u", x); }
static void text(char* out, size_t size, int64_t x) { snprintf(out, size, "%lld", (long long)x); }
static void text(char* out, size_t size, uint64_t x) { snprintf(out, size, "%llu", (unsigned long long)x); }

struct Request {
    const char *op, *dtype;
    size_t n;
    uint64_t seed;
    int repeat;
    bool cold;
};

// Callers with fewer than 2^31 elements pass an int, which is CUB's faster path.
template <typename T, typename N>
void reduce(void* temp, size_t& bytes, const T* in, T* out, N n, const char* op) {
    if (!strcmp(op, "sum")) {
        CHECK(cub::DeviceReduce::Sum(temp, bytes, in, out, n));
    } else if (!strcmp(op, "max")) {
        CHECK(cub::DeviceReduce::Max(temp, bytes, in, out, n));
    } else {
        CHECK(cub::DeviceReduce::Min(temp, bytes, in, out, n));
    }
}

template <typename T>
void measure(const Request& request) {
    cudaDeviceProp device;
    int gpu;
    CHECK(cudaGetDevice(&gpu));
    CHECK(cudaGetDeviceProperties(&device, gpu));
    size_t n = request.n, l2 = device.l2CacheSize;
    T *in, *out;
    CHECK(cudaMalloc(&in, std::max<size_t>(n, 1) * sizeof(T)));
    CHECK(cudaMalloc(&out, sizeof(T)));
    generate<<<1024, 256>>>(in, n, request.seed);

    void* temp = nullptr;
    size_t temp_bytes = 0;
    auto run = [&] {
        if (n < (1ull << 31)) {
            reduce(temp, temp_bytes, in, out, (int)n, request.op);
        } else {
            reduce(temp, temp_bytes, in, out, (int64_t)n, request.op);
        }
    };
    run();  // with no memory yet: CUB says how much it needs
    CHECK(cudaMalloc(&temp, temp_bytes));

    // As in host/src/bench.rs: data of more than four times the cache leaves nothing in it that matters.
    char* flush = nullptr;
    if (request.cold && n * sizeof(T) <= 4 * l2) CHECK(cudaMalloc(&flush, 2 * l2));
    cudaEvent_t start, stop;
    CHECK(cudaEventCreate(&start));
    CHECK(cudaEventCreate(&stop));
    for (int i = 0; i < 3; i++) run();
    std::vector<float> samples;
    for (int i = 0; i < request.repeat; i++) {
        if (flush) CHECK(cudaMemsetAsync(flush, i, 2 * l2));
        CHECK(cudaEventRecord(start));
        run();
        CHECK(cudaEventRecord(stop));
        CHECK(cudaEventSynchronize(stop));
        float ms;
        CHECK(cudaEventElapsedTime(&ms, start, stop));
        samples.push_back(ms);
    }
    std::sort(samples.begin(), samples.end());
    size_t last = samples.size() - 1;
    auto at = [&](size_t quarter) { return samples[last * quarter / 4]; };
    T value;
    CHECK(cudaMemcpy(&value, out, sizeof(T), cudaMemcpyDeviceToHost));
    char digits[64];
    text(digits, sizeof digits, value);
    printf("{\"library\":\"CUB %d.%d.%d\",\"op\":\"%s\",\"dtype\":\"%s\",\"n\":%zu,\"value\":\"%s\",\"time_ms\":%.6f,\"min_ms\":%.6f,"
           "\"max_ms\":%.6f,\"spread\":%.6f,\"cache\":\"%s\"}\n",
           CUB_MAJOR_VERSION, CUB_MINOR_VERSION, CUB_SUBMINOR_VERSION, request.op, request.dtype, n, digits, at(2), at(0), at(4),
           (at(3) - at(1)) / 2 / at(2), request.cold ? "cold" : "warm");
}

int main(int argc, char** argv) {
    if (argc != 8) {
        fprintf(stderr, "usage: %s sum|max|min f32|f64|i32|u32|i64|u64 N SEED REPEAT cold|warm GPU\n", argv[0]);
        return 2;
    }
    Request request{argv[1], argv[2], strtoull(argv[3], nullptr, 10), strtoull(argv[4], nullptr, 10), atoi(argv[5]), !strcmp(argv[6], "cold")};
    CHECK(cudaSetDevice(atoi(argv[7])));
    if (!strcmp(argv[2], "f32")) measure<float>(request);
    else if (!strcmp(argv[2], "f64")) measure<double>(request);
    else if (!strcmp(argv[2], "i32")) measure<int32_t>(request);
    else if (!strcmp(argv[2], "u32")) measure<uint32_t>(request);
    else if (!strcmp(argv[2], "i64")) measure<int64_t>(request);
    else if (!strcmp(argv[2], "u64")) measure<uint64_t>(request);
    else return 2;
    return 0;
}
