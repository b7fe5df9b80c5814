// CUB's DeviceHistogram::HistogramEven for u8, u32, f32 and f64; see peer.h.
//
//     nvcc -O3 -std=c++17 -arch=native bench/peers/histogram.cu -o target/peers/histogram
//
// CUB's counters are 32-bit here: 64-bit ones would make its shared memory atomics slow. Our totals have 64 bits.
#include <cub/cub.cuh>
#include "peer.h"

// The same elements as crates/ladders/src/kernels/histogram/question.rs generates: keys below `bins`, and `skew` percent of the elements equal to the first one.
template <typename T>
__global__ void generate_histogram(T* out, size_t n, uint64_t seed, uint64_t bins, uint64_t skew) {
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x) {
        uint64_t random = split_mix(seed, i);
        // Skip bit patterns that are no element of any type.
        if ((random >> 8 & 0xffff) * 100 < skew << 16) random = split_mix(seed, 0);
        T value;
        from_random(random, value);
        if constexpr (std::is_same_v<T, uint32_t>) value = (uint32_t)(((uint64_t)value * bins) >> 32);
        out[i] = value;
    }
}

template <typename T, typename Level>
void run_histogram(const Request& request, uint32_t bins, Level low, Level high) {
    size_t n = request.size.at(0);
    T* in;
    uint32_t* out;
    CHECK(cudaMalloc(&in, std::max<size_t>(n, 1) * sizeof(T)));
    CHECK(cudaMalloc(&out, bins * sizeof(uint32_t)));
    generate_histogram<<<1024, 256>>>(in, n, request.seed, bins, strtoull(request.value("skew", "0").c_str(), nullptr, 10));
    CHECK(cudaGetLastError());
    void* temp = nullptr;
    size_t temp_bytes = 0;
    auto run = [&] {
        // Callers with fewer than 2^31 elements pass an int, which is CUB's faster path. CUB clears the output itself.
        if (n < (1ull << 31)) {
            CHECK(cub::DeviceHistogram::HistogramEven(temp, temp_bytes, in, out, (int)bins + 1, low, high, (int)n));
        } else {
            CHECK(cub::DeviceHistogram::HistogramEven(temp, temp_bytes, in, out, (int)bins + 1, low, high, (int64_t)n));
        }
    };
    run();  // without memory CUB only returns the size that it needs
    CHECK(cudaMalloc(&temp, temp_bytes));
    std::string library = "CUB " + std::to_string(CUB_MAJOR_VERSION) + "." + std::to_string(CUB_MINOR_VERSION) + "." + std::to_string(CUB_SUBMINOR_VERSION);
    measure(request, library.c_str(), n * sizeof(T), out, {bins}, "u32", run);
}

int main(int argc, char** argv) {
    Request request(argc, argv);
    if (request.flag("letters") || request.size.at(0) >= (1ull << 32)) return 0;  // CUB cannot count these
    uint32_t bins = (uint32_t)strtoul(request.value("bins", "256").c_str(), nullptr, 10);
    std::string range = request.value("range", "-1:1");
    double low = strtod(range.c_str(), nullptr), high = strtod(range.c_str() + range.find(':') + 1, nullptr);
    if (request.dtype == "u8") return run_histogram<uint8_t, int>(request, bins, 0, (int)bins), 0;
    if (request.dtype == "u32") return run_histogram<uint32_t, uint32_t>(request, bins, 0u, bins), 0;
    if (request.dtype == "f32") return run_histogram<float, float>(request, bins, (float)low, (float)high), 0;
    if (request.dtype == "f64") return run_histogram<double, double>(request, bins, low, high), 0;
    return 2;
}
