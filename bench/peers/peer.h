// Shared by the peer programs: their arguments, the generator's numbers, and measuring as `host bench` does.
//
//     PROGRAM FAMILY OP DTYPE SIZE SEED REPEAT cold|warm GPU FOLDER [--SETTING VALUE]…
//
// e.g. `target/peers/reduce reduce sum f32 4194304 42 21 cold 0 FOLDER`. A program writes each library's result as raw elements into
// FOLDER and prints one JSON line for it; `host bench --peers` compares the result with our reference.
#pragma once
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#define CHECK(call)                                                                                        \
    do {                                                                                                   \
        cudaError_t error = (call);                                                                        \
        if (error != cudaSuccess) {                                                                        \
            fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, cudaGetErrorString(error));      \
            exit(1);                                                                                       \
        }                                                                                                  \
    } while (0)

// SplitMix64, output i: the input of `host` with --n and --seed. Operand k has the seed SEED + k.
__host__ __device__ inline uint64_t split_mix(uint64_t seed, uint64_t i) {
    uint64_t z = seed + 0x9e3779b97f4a7c15ull * (i + 1);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
}

__device__ inline void from_random(uint64_t x, float& to) { to = (float)((int)(x >> 40) - (1 << 23)) / (1 << 23); }
__device__ inline void from_random(uint64_t x, double& to) { to = (double)((int)(x >> 40) - (1 << 23)) / (1 << 23); }
__device__ inline void from_random(uint64_t x, __half& to) {
    float number;
    from_random(x, number);
    to = __float2half_rn(number);
}
__device__ inline void from_random(uint64_t x, __nv_bfloat16& to) {
    float number;
    from_random(x, number);
    to = __float2bfloat16_rn(number);
}
__device__ inline void from_random(uint64_t x, __nv_fp8_e4m3& to) {
    float number;
    from_random(x, number);
    to = __nv_fp8_e4m3(number);
}
__device__ inline void from_random(uint64_t x, int8_t& to) { to = (int8_t)x; }
__device__ inline void from_random(uint64_t x, int32_t& to) { to = (int32_t)(x >> 32); }
__device__ inline void from_random(uint64_t x, uint32_t& to) { to = (uint32_t)(x >> 32); }
__device__ inline void from_random(uint64_t x, int64_t& to) { to = (int64_t)x; }
__device__ inline void from_random(uint64_t x, uint64_t& to) { to = x; }
__device__ inline void from_random(uint64_t x, uint8_t& to) { to = (uint8_t)x; }

template <typename T>
__global__ void generate_kernel(T* out, size_t n, uint64_t seed) {
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x) {
        from_random(split_mix(seed, i), out[i]);
    }
}

struct Request {
    std::string family, op, dtype;
    std::vector<size_t> size;
    uint64_t seed;
    int repeat;
    bool cold;
    std::string folder;
    std::vector<std::string> settings;

    Request(int argc, char** argv) {
        if (argc < 10) {
            fprintf(stderr, "usage: %s FAMILY OP DTYPE SIZE SEED REPEAT cold|warm GPU FOLDER [--SETTING VALUE]...\n", argv[0]);
            exit(2);
        }
        family = argv[1], op = argv[2], dtype = argv[3];
        for (char* text = strtok(argv[4], "x"); text; text = strtok(nullptr, "x")) size.push_back(strtoull(text, nullptr, 10));
        seed = strtoull(argv[5], nullptr, 10), repeat = atoi(argv[6]), cold = !strcmp(argv[7], "cold");
        CHECK(cudaSetDevice(atoi(argv[8])));
        folder = argv[9];
        settings.assign(argv + 10, argv + argc);
    }

    bool flag(const char* name) const { return std::find(settings.begin(), settings.end(), std::string("--") + name) != settings.end(); }

    std::string value(const char* name, const char* otherwise) const {
        auto at = std::find(settings.begin(), settings.end(), std::string("--") + name);
        return at == settings.end() || at + 1 == settings.end() ? otherwise : *(at + 1);
    }

    // Operand k, as `host` generates it.
    template <typename T>
    T* generate(size_t n, int operand = 0) const {
        T* memory;
        CHECK(cudaMalloc(&memory, std::max<size_t>(n, 1) * sizeof(T)));
        generate_kernel<<<1024, 256>>>(memory, n, seed + operand);
        CHECK(cudaGetLastError());
        return memory;
    }
};

// How a library's result is compared.
struct Comparison {
    // Largest error that passes, where the library's definition allows more than the bound of `host`: another rounding, for example.
    double tolerance = 0;
    // Called once after the measurement, before the result is saved.
    std::function<void()> finish = [] {};
};

// Times `run`, which moves `bytes`; then saves the `n` elements of its result, which has this shape, and prints the line.
template <typename T, typename Run>
void measure(const Request& request, const char* library, size_t bytes, const T* result, std::vector<size_t> shape, const char* dtype, Run run,
             const Comparison& comparison = {}) {
    cudaDeviceProp device;
    int gpu;
    CHECK(cudaGetDevice(&gpu));
    CHECK(cudaGetDeviceProperties(&device, gpu));
    size_t l2 = device.l2CacheSize;
    // As in crates/ladders/src/bench.rs, data of more than four times the cache needs no flush: little of it stays cached.
    char* flush = nullptr;
    if (request.cold && bytes <= 4 * l2) CHECK(cudaMalloc(&flush, 2 * l2));
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
    comparison.finish();

    size_t n = 1;
    std::string axes;
    for (size_t axis : shape) n *= axis, axes += (axes.empty() ? "" : ",") + std::to_string(axis);
    std::vector<char> values(n * sizeof(T));
    CHECK(cudaMemcpy(values.data(), result, values.size(), cudaMemcpyDeviceToHost));
    std::string file = std::string(library).substr(0, strcspn(library, " ")) + ".bin";
    FILE* out = fopen((request.folder + "/" + file).c_str(), "wb");
    if (!out || fwrite(values.data(), 1, values.size(), out) != values.size() || fclose(out)) {
        fprintf(stderr, "cannot write %s/%s\n", request.folder.c_str(), file.c_str());
        exit(1);
    }
    printf("{\"library\":\"%s\",\"shape\":[%s],\"dtype\":\"%s\",\"file\":\"%s\",\"time_ms\":%.6f,\"min_ms\":%.6f,\"max_ms\":%.6f,"
           "\"spread\":%.6f,\"tolerance\":%g}\n",
           library, axes.c_str(), dtype, file.c_str(), at(2), at(0), at(4), (at(3) - at(1)) / 2 / at(2), comparison.tolerance);
    if (flush) CHECK(cudaFree(flush));
}

// Calls `body` with a null pointer of the requested type; returns whether the type is supported.
template <typename Body>
bool with_dtype(const std::string& dtype, Body body) {
    if (dtype == "f32") return body((float*)nullptr), true;
    if (dtype == "f64") return body((double*)nullptr), true;
    if (dtype == "i32") return body((int32_t*)nullptr), true;
    if (dtype == "u32") return body((uint32_t*)nullptr), true;
    if (dtype == "i64") return body((int64_t*)nullptr), true;
    if (dtype == "u64") return body((uint64_t*)nullptr), true;
    return false;
}
