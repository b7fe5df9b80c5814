// Bandwidth of the second-level cache and of device memory.
#include "constants.h"

// Reads `vectors` of 16 bytes `passes` times, past the first-level cache.
__global__ void __launch_bounds__(1024)
read_all(const uint4* memory, size_t vectors, int passes, unsigned* sink, long long* cycles) {
    size_t stride = (size_t)gridDim.x * blockDim.x, first = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    unsigned sum = 0;
    __syncthreads();
    long long start = clock64();
#pragma unroll 1
    for (int pass = 0; pass < passes; pass++) {
#pragma unroll 1
        for (size_t i = first; i < vectors; i += 4 * stride) {
            uint4 loaded[4] = {};
#pragma unroll
            for (int k = 0; k < 4; k++) {
                const uint4* at = memory + i + k * stride;
                if (i + k * stride < vectors) {
                    asm volatile("ld.global.cg.v4.u32 {%0, %1, %2, %3}, [%4];"
                                 : "=r"(loaded[k].x), "=r"(loaded[k].y), "=r"(loaded[k].z), "=r"(loaded[k].w)
                                 : "l"(at));
                }
            }
#pragma unroll
            for (int k = 0; k < 4; k++) sum ^= loaded[k].x ^ loaded[k].y ^ loaded[k].z ^ loaded[k].w;
        }
    }
    __syncthreads();
    long long stop = clock64();
    if (sum == 12345) *sink = sum;
    if (cycles && blockIdx.x == 0 && threadIdx.x == 0) *cycles = stop - start;
}

__global__ void copy_all(const uint4* from, uint4* to, size_t vectors) {
    size_t stride = (size_t)gridDim.x * blockDim.x;
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < vectors; i += stride) to[i] = from[i];
}

// Bytes per cycle of one multiprocessor, from data that all have in the cache.
static Spread of_one(size_t bytes, const Memory<uint4>& memory, unsigned* sink) {
    Memory<long long> cycles(1);
    auto time = [&](int passes) {
        read_all<<<1, 1024>>>(memory.at, bytes / 16, passes, sink, cycles.at);
        CHECK(cudaDeviceSynchronize());
        return (double)cycles.read(0);
    };
    return repeated([&] { return bytes / (time(2) - time(1)); });
}

// Bytes per nanosecond of all multiprocessors.
static Spread of_all(size_t bytes, int passes, const Memory<uint4>& memory, unsigned* sink) {
    int blocks = 2 * facts.multiprocessors;
    auto time = [&](int number) {
        return between_events([&] { read_all<<<blocks, 1024>>>(memory.at, bytes / 16, number, sink, nullptr); });
    };
    return repeated([&] { return bytes * (double)passes / (time(2 * passes) - time(passes)); });
}

// Time of a read behind a fill of the whole cache by lines that were written or read.
static Spread after(bool dirty, size_t bytes, const Memory<uint4>& memory, const Memory<uint4>& other, unsigned* sink) {
    int blocks = 2 * facts.multiprocessors;
    auto fill = [&] {
        if (dirty) {
            CHECK(cudaMemsetAsync(other.at, 1, other.size * 16));
        } else {
            read_all<<<blocks, 1024>>>(other.at, other.size, 1, sink, nullptr);
        }
    };
    auto read = [&] { read_all<<<blocks, 1024>>>(memory.at, bytes / 16, 1, sink, nullptr); };
    return repeated([&] { return between_events(read, fill); });
}

void bandwidths() {
    size_t large = facts.size(2ull << 30), small = facts.size(20 << 20);
    Memory<uint4> from(large / 16), to(large / 16);
    Memory<unsigned> sink(1);
    Spread alone = of_one(facts.size(8 << 20), from, sink.at);
    row("l2_bytes_per_cycle", alone, "B/cycle", "one multiprocessor, 1024 threads, 8 MiB");
    Spread cache = of_all(small, facts.count(20), from, sink.at), memory = of_all(large, 1, from, sink.at);
    row("l2_over_memory", cache, "GB/s", "all multiprocessors read 20 MiB again and again");
    row("l2_over_memory", memory, "GB/s", "all multiprocessors read 2 GiB");
    auto by_kernel = [&] { copy_all<<<16 * facts.multiprocessors, 512>>>(from.at, to.at, large / 16); };
    auto by_driver = [&] { CHECK(cudaMemcpyAsync(to.at, from.at, large, cudaMemcpyDeviceToDevice)); };
    Spread own = repeated([&] { return 2.0 * large / between_events(by_kernel); });
    Spread driver = repeated([&] { return 2.0 * large / between_events(by_driver); });
    double gbps = std::max(own.median, driver.median);
    auto part = [&](Spread rate, double of) { return scaled(rate, 1 / of); };
    row("l2_over_memory", part(cache, memory.median), "ratio", "the first of these rates over the second");
    row("stream", part(own, facts.nominal_gbps), "ratio", "copy of 2 GiB by a kernel over the nominal bandwidth");
    row("stream", part(driver, facts.nominal_gbps), "ratio", "copy of 2 GiB by the driver over the nominal bandwidth");
    row("stream", part(memory, facts.nominal_gbps), "ratio", "read of 2 GiB over the nominal bandwidth");
    Memory<uint4> other(2 * facts.l2 / 16);
    for (size_t mib : {4, 16, 64}) {
        size_t bytes = facts.size(mib << 20);
        Spread clean = after(false, bytes, from, other, sink.at), dirty = after(true, bytes, from, other, sink.at);
        std::string what = std::to_string(mib) + " MiB, ";
        row("modified", clean, "ns", what + "read after a read of twice the cache");
        row("modified", dirty, "ns", what + "read after a memset of twice the cache");
        row("modified", scaled(less(dirty, clean.median), gbps / bytes), "ratio",
            what + "bytes that the difference copies, per byte read");
    }
}
