// Launches, copies of results that the host waits for, and starts of blocks.
#include "constants.h"
#include <numeric>

__global__ void empty() {}

__global__ void spin(long long cycles) {
    long long start = clock64();
    while (clock64() - start < cycles) {
    }
}

struct Stay {
    unsigned multiprocessor;
    long long start, stop;
};

// Records when each block starts and ends, on the clock of its multiprocessor.
__global__ void stays(Stay* out) {
    long long start = clock64();
    __syncthreads();
    if (threadIdx.x == 0) {
        unsigned number;
        asm volatile("mov.u32 %0, %%smid;" : "=r"(number));
        out[blockIdx.x] = {number, start, clock64()};
    }
}

// Keeps the device busy for half a second, after which its clocks are those of a device at work.
void raise_clocks() {
    long long cycles = facts.quick ? 100 : 10000000;
    for (double ns = 0; ns < 5e8;) ns += between_events([=] { spin<<<facts.multiprocessors, 32>>>(cycles); });
}

static void of_launches() {
    auto busy = [] { spin<<<1, 1>>>(400000); };
    auto kernels = [&](int number) {
        auto run = [=] {
            for (int i = 0; i < number; i++) empty<<<1, 32>>>();
        };
        return between_events(run, busy);
    };
    Spread idle = repeated([] { return between_events([] { empty<<<1, 32>>>(); }); });
    Spread one = repeated([&] { return kernels(1); });
    row("first_launch_ns", one, "ns", "an empty kernel between two events, queued while the device works");
    row("first_launch_ns", idle, "ns", "the same, queued on an idle device");
    row("first_launch_ns", repeated([&] { return kernels(0); }), "ns", "two events with nothing between");
    Spread next = repeated([&] { return (kernels(21) - kernels(1)) / 20; });
    row("next_launch_ns", next, "ns", "20 further empty kernels of the same stream");
}

static void of_copies() {
    auto round_trip = [](size_t bytes) {
        Memory<float> memory(bytes / 4);
        std::vector<float> host(bytes / 4);
        return repeated([&] {
            return between_events([&] {
                CHECK(cudaMemcpy(host.data(), memory.at, bytes, cudaMemcpyDeviceToHost));
                host[0] = std::accumulate(host.begin(), host.end(), 0.0f);
                CHECK(cudaMemcpy(memory.at, host.data(), 4, cudaMemcpyHostToDevice));
            });
        });
    };
    Spread one = round_trip(4), small = round_trip(16 << 10), large = round_trip(64 << 10);
    row("host_copy_ns", one, "ns", "4 bytes to the host and back, the host waits");
    row("host_copy_ns", small, "ns", "16 KiB to the host, summed there, 4 bytes back");
    row("host_copy_ns", large, "ns", "64 KiB to the host, summed there, 4 bytes back");
    double per_kib = (large.median - small.median) / 48;
    row("host_kib_ns", {per_kib, per_kib, per_kib}, "ns/KiB", "difference of the two medians above over 48 KiB");
}

static void of_blocks() {
    int blocks = facts.quick ? 64 : 1 << 20;
    for (int threads : {32, 128, 512}) {
        Spread time = repeated([=] { return between_events([=] { empty<<<blocks, threads>>>(); }) / blocks; });
        std::string what = std::to_string(blocks) + " empty blocks of " + std::to_string(threads) + " threads";
        row("block_start_ns", time, "ns/block", what);
    }
    // So much shared memory that a multiprocessor has one block at a time.
    int shared = 200 << 10, grid = facts.multiprocessors * facts.count(16);
    CHECK(cudaFuncSetAttribute(stays, cudaFuncAttributeMaxDynamicSharedMemorySize, shared));
    Memory<Stay> memory(grid);
    Spread gap = repeated([&] {
        stays<<<grid, 256, shared>>>(memory.at);
        CHECK(cudaDeviceSynchronize());
        std::vector<Stay> all(grid);
        CHECK(cudaMemcpy(all.data(), memory.at, grid * sizeof(Stay), cudaMemcpyDeviceToHost));
        std::sort(all.begin(), all.end(), [](const Stay& a, const Stay& b) {
            return std::pair(a.multiprocessor, a.start) < std::pair(b.multiprocessor, b.start);
        });
        std::vector<double> gaps;
        for (int i = 1; i < grid; i++) {
            if (all[i].multiprocessor != all[i - 1].multiprocessor) continue;
            gaps.push_back(all[i].start - all[i - 1].stop);
        }
        return gaps.empty() ? 0.0 : spread(gaps).median;
    });
    row("block_cycles", gap, "cycles", "end of a block to the start of the next, one block of 256 threads at a time");
}

void launches() {
    of_launches();
    of_copies();
    of_blocks();
}
