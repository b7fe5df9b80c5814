// Throughput of atomics on global memory.
#include "constants.h"
#include <cmath>

// Each warp's requests go to one of `lines` lines, drawn anew for each request. `addresses` lanes have a word of their
// own in it, the others share these.
__global__ void adds(unsigned* memory, unsigned lines, unsigned addresses, int rounds) {
    unsigned warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    unsigned random = warp * 2654435761u + 1;
#pragma unroll 1
    for (int round = 0; round < rounds; round++) {
        random = random * 1664525u + 1013904223u;
        unsigned line = (random >> 8) & (lines - 1);
        unsigned* word = memory + line * 32 + lane % addresses;
        asm volatile("red.global.add.u32 [%0], %1;" ::"l"(word), "r"(lane) : "memory");
    }
}

// Nanoseconds of a request.
static Spread request(unsigned* memory, unsigned lines, unsigned addresses) {
    int blocks = facts.quick ? 1 : 2 * facts.multiprocessors, threads = facts.quick ? 32 : 1024;
    double requests = blocks * (threads / 32.0), rounds = facts.quick ? 2 : 16;
    auto time = [=](int number) {
        return between_events([=] { adds<<<blocks, threads>>>(memory, lines, addresses, number); });
    };
    return repeated([=] { return (time(2 * rounds) - time(rounds)) / (requests * rounds); });
}

void atomics() {
    Memory<unsigned> memory(32 << 14);
    Spread one = request(memory.at, 1, 1);
    row("atomic_step_ns", one, "ns/request", "32 lanes on one address of one line, all multiprocessors");
    row("atomic_step_ns", scaled(one, 1 / (32 * 6.0)), "ns/step", "the same: 6 steps for each lane");
    for (unsigned addresses : {2, 4, 8, 32}) {
        Spread time = request(memory.at, 1, addresses);
        double steps = std::max(6 * 32 / addresses, 5 * std::min(addresses, 4u));
        std::string what = "32 lanes on " + std::to_string(addresses) + " addresses of one line";
        row("atomic_step_ns", time, "ns/request", what);
        row("atomic_step_ns", scaled(time, 1 / steps), "ns/step", "the same in steps of the model");
    }
    for (unsigned addresses : {1, 32}) {
        double alone = request(memory.at, 1, addresses).median;
        for (unsigned lines : {4, 16, 64, 256, 1024, 16384}) {
            Spread time = request(memory.at, lines, addresses);
            std::string what = std::to_string(lines) + " lines, " + std::to_string(addresses) + " addresses";
            row("atomic_spread", time, "ns/request", what);
            double power = std::log(alone / time.median) / std::log(lines);
            row("atomic_spread", {power, power, power}, "power", what + ": rate over one line's as a power of them");
        }
    }
}
