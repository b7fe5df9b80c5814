// Loads that the caches serve: cycles of a multiprocessor for each, by the lines that its lanes touch.
#include "constants.h"

// Kinds of loads: past the first-level cache, of data that others may write, plain, and of data that nobody writes
// during the kernel.
enum Kind { PAST, SHARED, PLAIN, CONSTANT };

#define LOAD(width, ...)                                                                               \
    if constexpr (KIND == PAST) asm volatile("ld.global.cg." width : __VA_ARGS__ : "l"(at));                \
    if constexpr (KIND == SHARED) asm volatile("ld.relaxed.cta.global." width : __VA_ARGS__ : "l"(at));    \
    if constexpr (KIND == PLAIN) asm volatile("ld.global." width : __VA_ARGS__ : "l"(at));                 \
    if constexpr (KIND == CONSTANT) asm volatile("ld.global.nc." width : __VA_ARGS__ : "l"(at));

// Independent loads of all warps; lane `l` loads `WORDS` words from byte `places[l]` on. `zero` is 0: a compiler that
// knew would load once.
template <Kind KIND, int WORDS>
__global__ void __launch_bounds__(1024)
cached_loads(const char* memory, const unsigned* places, size_t zero, unsigned* sink, int rounds, long long* cycles) {
    const char* at = memory + places[threadIdx.x % 32];
    auto load = [&](unsigned (&to)[4]) {
        at += zero;
        if constexpr (WORDS == 1) { LOAD("u32 %0, [%1];", "=r"(to[0])) }
        if constexpr (WORDS == 2) { LOAD("v2.u32 {%0, %1}, [%2];", "=r"(to[0]), "=r"(to[1])) }
        if constexpr (WORDS == 4) {
            LOAD("v4.u32 {%0, %1, %2, %3}, [%4];", "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3]))
        }
    };
    unsigned first[4] = {};
    load(first);
    time_loads<8>(load, first[0], sink, rounds, cycles);
}

template <Kind KIND, int WORDS>
static void of_width(const Memory<char>& memory, Memory<unsigned>& places, Memory<unsigned>& sink) {
    auto measure = [&](const std::string& what, const std::function<unsigned(unsigned)>& place) {
        unsigned at[32];
        for (unsigned lane = 0; lane < 32; lane++) at[lane] = place(lane);
        CHECK(cudaMemcpy(places.at, at, sizeof at, cudaMemcpyHostToDevice));
        Spread time = per_step(8 * 32, [&](int rounds, long long* out) {
            cached_loads<KIND, WORDS><<<1, 1024>>>(memory.at, places.at, 0, sink.at, rounds, out);
        });
        const char* kind[] = {"ld.cg", "ld.relaxed.cta", "ld", "ld.nc"};
        std::string how = std::string(kind[KIND]) + ", " + std::to_string(4 * WORDS) + " bytes a lane, " + what;
        row("request_cycles", time, "cycles", how);
    };
    unsigned bytes = 4 * WORDS;
    measure("all lanes load the same", [](unsigned) { return 0; });
    measure("neighbours", [=](unsigned lane) { return bytes * lane; });
    measure("both halves of the warp load the same neighbours", [=](unsigned lane) { return bytes * (lane % 16); });
    for (unsigned lines : {2, 4, 8, 16, 32}) {
        std::string number = std::to_string(lines);
        unsigned each = 32 / lines;
        measure(number + " lines, in each of which lanes load the same",
                [=](unsigned lane) { return 128 * (lane / each); });
        measure(number + " lines, in each of which lanes load neighbours",
                [=](unsigned lane) { return 128 * (lane / each) + bytes * (lane % each) % 128; });
    }
    for (unsigned lines : {2, 4, 8, 16, 32}) {
        measure(std::to_string(lines) + " lines, different places in them",
                [=](unsigned lane) { return 128 * (lane * lines / 32) + bytes * lane % 128; });
    }
    measure("32 lines that are 4 KiB apart, the same place in them", [](unsigned lane) { return 4096 * lane; });
    measure("32 lines that are 4 KiB apart, different places in them",
            [=](unsigned lane) { return 4096 * lane + bytes * lane % 128; });
}

void cached() {
    Memory<char> memory(32 * 4096);
    Memory<unsigned> places(32), sink(1024);
    of_width<PAST, 1>(memory, places, sink);
    of_width<PAST, 4>(memory, places, sink);
    of_width<SHARED, 1>(memory, places, sink);
    of_width<PLAIN, 1>(memory, places, sink);
    of_width<PLAIN, 2>(memory, places, sink);
    of_width<PLAIN, 4>(memory, places, sink);
    of_width<CONSTANT, 1>(memory, places, sink);
    of_width<CONSTANT, 2>(memory, places, sink);
    of_width<CONSTANT, 4>(memory, places, sink);
}
