// CUB's DeviceHistogram::HistogramEven for u8, u32, f32 and f64, and MultiHistogramEven for channels of u8; see peer.h.
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

std::string cub_version() {
    return "CUB " + std::to_string(CUB_MAJOR_VERSION) + "." + std::to_string(CUB_MINOR_VERSION) + "." + std::to_string(CUB_SUBMINOR_VERSION);
}

template <typename T>
T* generate_input(const Request& request, uint32_t bins) {
    size_t n = request.size.at(0);
    T* in;
    CHECK(cudaMalloc(&in, std::max<size_t>(n, 1) * sizeof(T)));
    generate_histogram<<<1024, 256>>>(in, n, request.seed, bins, strtoull(request.value("skew", "0").c_str(), nullptr, 10));
    CHECK(cudaGetLastError());
    return in;
}

template <typename T, typename Level>
void run_histogram(const Request& request, uint32_t bins, Level low, Level high) {
    size_t n = request.size.at(0);
    T* in = generate_input<T>(request, bins);
    uint32_t* out;
    CHECK(cudaMalloc(&out, bins * sizeof(uint32_t)));
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
    measure(request, cub_version().c_str(), n * sizeof(T), out, {bins}, "u32", run);
}

// Histograms of the first ACTIVE of interleaved channels, one after the other in the result.
template <int CHANNELS, int ACTIVE>
void run_channels(const Request& request, uint32_t bins) {
    size_t n = request.size.at(0);
    if (n % CHANNELS != 0) return;  // CUB counts whole pixels
    uint8_t* in = generate_input<uint8_t>(request, bins);
    uint32_t* out;
    CHECK(cudaMalloc(&out, ACTIVE * bins * sizeof(uint32_t)));
    uint32_t* counts[ACTIVE];
    int levels[ACTIVE], low[ACTIVE], high[ACTIVE];
    for (int channel = 0; channel < ACTIVE; channel++) {
        counts[channel] = out + channel * (size_t)bins;
        levels[channel] = (int)bins + 1, low[channel] = 0, high[channel] = (int)bins;
    }
    void* temp = nullptr;
    size_t temp_bytes = 0;
    auto run = [&] {
        // As above, the number of pixels is an int if it fits.
        auto count = [&](auto pixels) {
            return cub::DeviceHistogram::MultiHistogramEven<CHANNELS, ACTIVE>(temp, temp_bytes, in, counts, levels, low, high, pixels);
        };
        CHECK(n < (1ull << 31) ? count((int)(n / CHANNELS)) : count((int64_t)(n / CHANNELS)));
    };
    run();
    CHECK(cudaMalloc(&temp, temp_bytes));
    measure(request, cub_version().c_str(), n, out, {ACTIVE, bins}, "u32", run);
}

int main(int argc, char** argv) {
    Request request(argc, argv);
    if (request.flag("letters") || request.size.at(0) >= (1ull << 32)) return 0;  // CUB cannot count these
    uint32_t bins = (uint32_t)strtoul(request.value("bins", "256").c_str(), nullptr, 10);
    std::string range = request.value("range", "-1:1");
    double low = strtod(range.c_str(), nullptr), high = strtod(range.c_str() + range.find(':') + 1, nullptr);
    int channels = atoi(request.value("channels", "1").c_str());
    int active = std::min(channels, atoi(request.value("active", "4").c_str()));
    if (channels == 2 && active == 2) return run_channels<2, 2>(request, bins), 0;
    if (channels == 3 && active == 3) return run_channels<3, 3>(request, bins), 0;
    if (channels == 4 && active == 4) return run_channels<4, 4>(request, bins), 0;
    if (channels == 4 && active == 3) return run_channels<4, 3>(request, bins), 0;
    if (channels > 1) return 0;  // other numbers of channels have no peer
    if (request.dtype == "u8") return run_histogram<uint8_t, int>(request, bins, 0, (int)bins), 0;
    if (request.dtype == "u32") return run_histogram<uint32_t, uint32_t>(request, bins, 0u, bins), 0;
    if (request.dtype == "f32") return run_histogram<float, float>(request, bins, (float)low, (float)high), 0;
    if (request.dtype == "f64") return run_histogram<double, double>(request, bins, low, high), 0;
    return 2;
}
