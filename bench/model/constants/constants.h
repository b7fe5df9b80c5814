// Shared by the micro-benchmarks: repetition, rows of output, and the time between two events.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#define CHECK(call)                                                                                    \
    do {                                                                                               \
        cudaError_t error = (call);                                                                    \
        if (error != cudaSuccess) {                                                                    \
            fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, cudaGetErrorString(error));  \
            exit(1);                                                                                   \
        }                                                                                              \
    } while (0)

constexpr int REPEAT = 15;

// The device that is measured. With `quick`, sizes are cut so that a simulator can run the program; its numbers mean
// nothing.
struct Facts {
    int multiprocessors;
    size_t l2;
    double nominal_gbps;
    bool quick;
    size_t size(size_t bytes) const { return quick ? std::min<size_t>(bytes, 1 << 18) : bytes; }
    int count(int number) const { return quick ? std::min(number, 2) : number; }
};
extern Facts facts;

// What a constant is measured to be: the lower median of the samples, with the smallest and the largest one.
struct Spread {
    double least, median, most;
};

inline Spread less(Spread value, double by) { return {value.least - by, value.median - by, value.most - by}; }

inline Spread scaled(Spread value, double by) { return {value.least * by, value.median * by, value.most * by}; }

inline Spread spread(std::vector<double> samples) {
    std::sort(samples.begin(), samples.end());
    return {samples.front(), samples[(samples.size() - 1) / 2], samples.back()};
}

// One line: name as in crates/ptx_sim/src/explain/costs.rs, median, unit, spread, how it was measured.
inline void row(const char* name, Spread value, const char* unit, const std::string& how) {
    printf("%-22s %12.4f %-12s [%.4f .. %.4f]  %s\n", name, value.median, unit, value.least, value.most, how.c_str());
    fflush(stdout);
}

// Repeats a measurement after one run that is not counted.
inline Spread repeated(const std::function<double()>& sample) {
    sample();
    std::vector<double> samples;
    for (int i = 0; i < REPEAT; i++) samples.push_back(sample());
    return spread(samples);
}

// Nanoseconds between two events around `run`. `before` is queued first: a device that works on it when the events and
// the launches arrive does not wait for the host.
inline double between_events(const std::function<void()>& run, const std::function<void()>& before = [] {}) {
    static cudaEvent_t start = nullptr, stop = nullptr;
    if (!start) {
        CHECK(cudaEventCreate(&start));
        CHECK(cudaEventCreate(&stop));
    }
    CHECK(cudaDeviceSynchronize());
    before();
    CHECK(cudaEventRecord(start));
    run();
    CHECK(cudaEventRecord(stop));
    CHECK(cudaEventSynchronize(stop));
    CHECK(cudaGetLastError());
    float ms;
    CHECK(cudaEventElapsedTime(&ms, start, stop));
    return ms * 1e6;
}

// Device memory, zeroed.
template <typename T>
struct Memory {
    T* at;
    size_t size;
    explicit Memory(size_t size) : size(size) {
        CHECK(cudaMalloc(&at, size * sizeof(T)));
        CHECK(cudaMemset(at, 0, size * sizeof(T)));
    }
    ~Memory() { cudaFree(at); }
    Memory(const Memory&) = delete;
    T read(size_t i) const {
        T value;
        CHECK(cudaMemcpy(&value, at + i, sizeof(T), cudaMemcpyDeviceToHost));
        return value;
    }
};

// Cycles of one step of a loop in a kernel that stores its cycles. `launch(rounds, cycles)` is timed with 8 and 24
// rounds: the difference has neither the start nor the end of the loop.
inline Spread per_step(double steps, const std::function<void(int, long long*)>& launch) {
    Memory<long long> cycles(1);
    auto time = [&](int rounds) {
        launch(rounds, cycles.at);
        CHECK(cudaDeviceSynchronize());
        return (double)cycles.read(0);
    };
    return repeated([&] { return (time(24) - time(8)) / 16 / steps; });
}

// Stores the cycles of independent loads by all warps of a block, `LOADS` in each round. `load(to)` loads up to four
// words; `sum` is stored with them, so that no load is left out.
template <int LOADS, class Load>
__device__ inline void time_loads(Load load, unsigned sum, unsigned* sink, int rounds, long long* cycles) {
    __syncthreads();
    long long start = clock64();
#pragma unroll 1
    for (int round = 0; round < rounds; round++) {
        unsigned loaded[LOADS][4] = {};
#pragma unroll
        for (auto& to : loaded) load(to);
#pragma unroll
        for (auto& to : loaded) sum ^= to[0] ^ to[1] ^ to[2] ^ to[3];
    }
    __syncthreads();
    long long stop = clock64();
    sink[threadIdx.x] = sum;
    if (threadIdx.x == 0) *cycles = stop - start;
}

void raise_clocks();
void launches();
void units();
void products();
void barriers();
void latencies();
void cached();
void bandwidths();
void stores();
void partial();
void atomics();
