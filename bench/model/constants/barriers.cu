// Barriers of a block, and shared memory.
#include "constants.h"

__global__ void barriers_of(int rounds, long long* cycles) {
    __syncthreads();
    long long start = clock64();
#pragma unroll 1
    for (int round = 0; round < rounds; round++) {
#pragma unroll
        for (int i = 0; i < 16; i++) __syncthreads();
    }
    long long stop = clock64();
    if (threadIdx.x == 0) *cycles = stop - start;
}

static void of_barriers() {
    // A straight line through the medians.
    double n = 0, x = 0, y = 0, xx = 0, xy = 0;
    for (int warps : {1, 2, 4, 8, 16, 32}) {
        Spread cycles = per_step(16, [=](int rounds, long long* out) { barriers_of<<<1, warps * 32>>>(rounds, out); });
        std::string what = "__syncthreads of " + std::to_string(warps) + " warps that only meet";
        row("barrier_cycles", cycles, "cycles", what);
        n++, x += warps, y += cycles.median, xx += warps * warps, xy += warps * cycles.median;
    }
    double slope = (n * xy - x * y) / (n * xx - x * x), rest = (y - slope * x) / n;
    row("barrier_warp_cycles", {slope, slope, slope}, "cycles/warp", "slope of the lines above");
    row("barrier_cycles", {rest, rest, rest}, "cycles", "what the same line gives for no warps");
}

enum class Chase { Address, Index, Atomic };

// A chase through a ring of 1024 words, each of which holds the place of the next. Every lane is at another bank, and
// all move by one bank in a step.
template <Chase HOW>
__global__ void ring(unsigned zero, unsigned* sink, int rounds, long long* cycles) {
    __shared__ unsigned words[1024];
    unsigned base = (unsigned)__cvta_generic_to_shared(words);
    for (unsigned i = threadIdx.x; i < 1024; i += blockDim.x) {
        unsigned next = (i + 33) % 1024;
        words[i] = HOW == Chase::Index ? next : base + 4 * next;
    }
    __syncthreads();
    unsigned at = HOW == Chase::Index ? threadIdx.x : base + 4 * threadIdx.x;
    long long start = clock64();
#pragma unroll 1
    for (int round = 0; round < rounds; round++) {
#pragma unroll
        for (int i = 0; i < 64; i++) {
            if (HOW == Chase::Index) at = ((volatile unsigned*)words)[at];
            if (HOW == Chase::Address) asm volatile("ld.shared.u32 %0, [%0];" : "+r"(at)::"memory");
            if (HOW == Chase::Atomic) {
                asm volatile("atom.shared.add.u32 %0, [%0], %1;" : "+r"(at) : "r"(zero) : "memory");
            }
        }
    }
    long long stop = clock64();
    sink[threadIdx.x] = at;
    if (threadIdx.x == 0) *cycles = stop - start;
}

// Atomics of all lanes of a warp on one word, or on a word each; each waits for the one before it.
__global__ void shared_adds(unsigned zero, unsigned stride, unsigned* sink, int rounds, long long* cycles) {
    __shared__ unsigned words[32];
    words[threadIdx.x] = 0;
    __syncwarp();
    unsigned base = (unsigned)__cvta_generic_to_shared(words) + 4 * stride * threadIdx.x, old = 0;
    long long start = clock64();
#pragma unroll 1
    for (int round = 0; round < rounds; round++) {
#pragma unroll
        for (int i = 0; i < 16; i++) {
            unsigned address = base + (old & zero);
            asm volatile("atom.shared.add.u32 %0, [%1], %2;" : "=r"(old) : "r"(address), "r"(threadIdx.x) : "memory");
        }
    }
    long long stop = clock64();
    sink[threadIdx.x] = old;
    if (threadIdx.x == 0) *cycles = stop - start;
}

// Independent loads of all warps; lanes are `stride` words apart.
__global__ void shared_loads(unsigned stride, unsigned* sink, int rounds, long long* cycles) {
    extern __shared__ unsigned words[];
    for (unsigned i = threadIdx.x; i < 32 * 32; i += blockDim.x) words[i] = i;
    unsigned at = (unsigned)__cvta_generic_to_shared(words) + 4 * (stride * (threadIdx.x % 32) % 1024);
    auto load = [=](unsigned (&to)[4]) { asm volatile("ld.volatile.shared.u32 %0, [%1];" : "=r"(to[0]) : "r"(at)); };
    time_loads<32>(load, 0, sink, rounds, cycles);
}

// Independent loads of several words by all warps; `share` neighbouring lanes load the same ones.
template <int WORDS>
__global__ void wide_loads(unsigned share, unsigned* sink, int rounds, long long* cycles) {
    extern __shared__ unsigned words[];
    for (unsigned i = threadIdx.x; i < 32 * WORDS; i += blockDim.x) words[i] = i;
    unsigned at = (unsigned)__cvta_generic_to_shared(words) + 4 * WORDS * (threadIdx.x % 32 / share);
    auto load = [=](unsigned (&to)[4]) {
        if constexpr (WORDS == 1) asm volatile("ld.volatile.shared.u32 %0, [%1];" : "=r"(to[0]) : "r"(at));
        if constexpr (WORDS == 2)
            asm volatile("ld.volatile.shared.v2.u32 {%0, %1}, [%2];" : "=r"(to[0]), "=r"(to[1]) : "r"(at));
        if constexpr (WORDS == 4)
            asm volatile("ld.volatile.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
                         : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                         : "r"(at));
    };
    time_loads<8>(load, 0, sink, rounds, cycles);
}

template <int WORDS>
static void of_returns(Memory<unsigned>& sink) {
    for (unsigned share : {1, 2, 4, 8, 16, 32}) {
        Spread time = per_step(8 * 32, [&](int rounds, long long* out) {
            wide_loads<WORDS><<<1, 32 * 32, 32 * 4 * WORDS>>>(share, sink.at, rounds, out);
        });
        std::string what = "a load of " + std::to_string(4 * WORDS) + " bytes a lane, " + std::to_string(share) +
                           " lanes load the same, 32 warps";
        row("wavefront_cycles", time, "cycles", what);
    }
}

static void of_shared() {
    Memory<unsigned> sink(1024);
    auto chase = [&](auto kernel) {
        return per_step(64, [&](int rounds, long long* out) { kernel<<<1, 32>>>(0, sink.at, rounds, out); });
    };
    Spread load = chase(ring<Chase::Address>), atomic = chase(ring<Chase::Atomic>);
    row("shared_cycles", load, "cycles", "chase of addresses in shared memory, a bank for each lane");
    row("shared_cycles", chase(ring<Chase::Index>), "cycles", "the same with an instruction for the address");
    row("shared_atomic_cycles", less(atomic, load.median), "cycles", "atomic that returns, less a load");
    for (unsigned stride : {1, 0}) {
        Spread add = per_step(16, [&](int rounds, long long* out) {
            shared_adds<<<1, 32>>>(0, stride, sink.at, rounds, out);
        });
        const char* what = stride ? "whole latency, and two instructions" : "the same, all lanes on one word";
        row("shared_atomic_cycles", add, "cycles", what);
    }
    for (unsigned stride : {1, 2, 8, 32}) {
        for (int warps : {8, 32}) {
            Spread time = per_step(32 * warps * stride, [&](int rounds, long long* out) {
                shared_loads<<<1, warps * 32, 4096>>>(stride, sink.at, rounds, out);
            });
            std::string what = std::to_string(stride) + " wavefronts a load, " + std::to_string(warps) + " warps";
            row("wavefront_cycles", time, "cycles", what);
        }
    }
    of_returns<1>(sink);
    of_returns<2>(sink);
    of_returns<4>(sink);
}

void barriers() {
    of_barriers();
    of_shared();
}
