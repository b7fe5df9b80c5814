// Latencies of the caches and of device memory: chases of addresses.
#include "constants.h"

constexpr size_t NODE = 128;

enum class From { L1, L2, Atomic };

// Writes a ring of `nodes` lines, a power of two, in the order of a linear congruence: each line holds the address of
// the next one.
__global__ void link(char* memory, size_t nodes) {
    size_t stride = (size_t)gridDim.x * blockDim.x;
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < nodes; i += stride) {
        size_t next = (i * 2862933555777941757ull + 3037000493ull) % nodes;
        // High bits of a congruence are more random than low ones, so neighbours in the ring change places by bits.
        auto place = [=](size_t node) { return (__brevll(node) >> 1 >> __clzll(nodes)) * NODE; };
        *(char**)(memory + place(i)) = memory + place(next);
    }
}

// Follows the ring `warm` times, then with the clock.
template <From FROM>
__global__ void chase(char* start, char** end, unsigned long long zero, int warm, int rounds, long long* cycles) {
    unsigned long long at = (unsigned long long)start;
    long long first = 0;
#pragma unroll 1
    for (int round = 0; round < warm + rounds; round++) {
        if (round == warm) first = clock64();
#pragma unroll
        for (int i = 0; i < 16; i++) {
            if (FROM == From::L1) asm volatile("ld.global.u64 %0, [%0];" : "+l"(at)::"memory");
            if (FROM == From::L2) asm volatile("ld.global.cg.u64 %0, [%0];" : "+l"(at)::"memory");
            if (FROM == From::Atomic) {
                asm volatile("atom.global.or.b64 %0, [%0], %1;" : "+l"(at) : "l"(zero) : "memory");
            }
        }
    }
    *cycles = clock64() - first;
    *end = (char*)at;
}

// Cycles of a step; `again` starts each repetition at the ring's start, otherwise it goes on where the last one ended.
template <From FROM>
static Spread steps(size_t bytes, bool again, int rounds) {
    bytes = facts.size(bytes);
    Memory<char> memory(bytes);
    Memory<long long> cycles(1);
    Memory<char*> end(1);
    size_t nodes = bytes / NODE;
    link<<<1024, 256>>>(memory.at, nodes);
    CHECK(cudaDeviceSynchronize());
    char* start = memory.at;
    int warm = again ? (int)(nodes + 15) / 16 : 0;
    return repeated([&] {
        chase<FROM><<<1, 1>>>(start, end.at, 0, warm, rounds, cycles.at);
        CHECK(cudaDeviceSynchronize());
        if (!again) start = end.read(0);
        return cycles.read(0) / (16.0 * rounds);
    });
}

void latencies() {
    int rounds = facts.count(128);
    auto show = [](const char* name, Spread cycles, const char* how) { row(name, cycles, "cycles", how); };
    show("l1_cycles", steps<From::L1>(16 << 10, true, rounds), "chase over 16 KiB");
    show("l2_cycles", steps<From::L2>(8 << 20, true, rounds), "chase over 8 MiB that was read before, past L1");
    show("global_cycles", steps<From::L2>(256 << 20, false, rounds), "chase over 256 MiB, random lines");
    show("global_cycles", steps<From::L2>(2ull << 30, false, rounds), "chase over 2 GiB, misses of the TLB included");
    show("global_atomic_cycles", steps<From::Atomic>(1 << 20, true, rounds), "chase over 1 MiB by atomics that return");
    show("global_atomic_cycles", steps<From::Atomic>(NODE, true, rounds), "the same, one address");
}
