// Stores of one multiprocessor whose lanes write to lines of their own; partial.cu has those of all.
#include "constants.h"

constexpr size_t LINE = 128;

// Each request of a warp writes 32 lines; `lines` is a power of two, behind which the writes start again.
__global__ void scatter(char* memory, size_t lines, int rounds, long long* cycles) {
    size_t threads = (size_t)gridDim.x * blockDim.x, at = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    __syncthreads();
    long long start = clock64();
#pragma unroll 1
    for (int round = 0; round < rounds; round++) {
#pragma unroll
        for (int i = 0; i < 8; i++) {
            asm volatile("st.global.u32 [%0], %1;" ::"l"(memory + (at & (lines - 1)) * LINE), "r"(round) : "memory");
            at += threads;
        }
    }
    __syncthreads();
    long long stop = clock64();
    if (threadIdx.x == 0) *cycles = stop - start;
}

void stores() {
    size_t bytes = facts.size(8 << 20);
    Memory<char> memory(bytes);
    for (int warps : {1, 8, 32}) {
        Spread one = per_step(8 * 32 * warps, [&](int rounds, long long* out) {
            scatter<<<1, warps * 32>>>(memory.at, bytes / LINE, rounds, out);
        });
        std::string what = "one multiprocessor, " + std::to_string(warps) + " warps, 32 lines a store, 8 MiB";
        row("store_line_cycles", one, "cycles/line", what);
    }
}
