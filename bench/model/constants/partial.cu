// Lines of which only a part is read or written. Device memory moves at least two sectors, and reads those that were
// written in part.
#include "constants.h"

constexpr size_t LINE = 128;

// Each line gets `BYTES` neighbouring bytes, from lanes that follow each other with a word each; `lines` is a power of
// two, behind which the writes start again.
template <int BYTES, class Word>
__global__ void write_parts(char* memory, size_t lines, size_t count) {
    constexpr int LANES = BYTES / sizeof(Word);
    size_t threads = (size_t)gridDim.x * blockDim.x;
    for (size_t at = blockIdx.x * (size_t)blockDim.x + threadIdx.x; at < count * LANES; at += threads) {
        size_t line = at / LANES & (lines - 1);
        *(volatile Word*)(memory + line * LINE + at % LANES * sizeof(Word)) = Word{1};
    }
}

// The same number of bytes of each line is read, past the first-level cache.
template <int BYTES>
__global__ void read_parts(const char* memory, size_t lines, size_t count, unsigned* sink) {
    constexpr int LANES = BYTES / 4;
    size_t threads = (size_t)gridDim.x * blockDim.x;
    unsigned sum = 0;
#pragma unroll 4
    for (size_t at = blockIdx.x * (size_t)blockDim.x + threadIdx.x; at < count * LANES; at += threads) {
        size_t line = at / LANES & (lines - 1);
        sum ^= __ldcg((const unsigned*)(memory + line * LINE + at % LANES * 4));
    }
    if (sum == 12345) *sink = sum;
}

// Nanoseconds per line of a launch over a number of lines.
template <class Launch>
static Spread per_line(size_t count, Launch launch) {
    auto time = [&](size_t lines) { return between_events([&] { launch(8 * facts.multiprocessors, lines); }); };
    return repeated([&] { return (time(2 * count) - time(count)) / count; });
}

static std::string part(int bytes, size_t all) {
    return std::to_string(bytes) + " bytes of each line, " + std::to_string(all >> 20) + " MiB";
}

template <int BYTES, class Word = unsigned>
static void written(const Memory<char>& memory, size_t bytes) {
    Spread line = per_line(memory.size / LINE, [&](int blocks, size_t count) {
        write_parts<BYTES, Word><<<blocks, 256>>>(memory.at, bytes / LINE, count);
    });
    row("store_line_ns", line, "ns/line", part(BYTES, bytes) + (sizeof(Word) > 4 ? ", 8 bytes a lane" : ""));
}

template <int BYTES>
static void read(const Memory<char>& memory, size_t bytes, unsigned* sink) {
    Spread line = per_line(memory.size / LINE, [&](int blocks, size_t count) {
        read_parts<BYTES><<<blocks, 256>>>(memory.at, bytes / LINE, count, sink);
    });
    row("lone_read", line, "ns/line", part(BYTES, bytes));
}

void partial() {
    Memory<char> memory(facts.size(1 << 30));
    Memory<unsigned> sink(1);
    for (size_t bytes : {facts.size(8 << 20), memory.size}) {
        written<4>(memory, bytes);
        written<16>(memory, bytes);
        written<32>(memory, bytes);
        written<64>(memory, bytes);
        written<128>(memory, bytes);
        written<128, unsigned long long>(memory, bytes);
        read<4>(memory, bytes, sink.at);
        read<32>(memory, bytes, sink.at);
        read<64>(memory, bytes, sink.at);
        read<128>(memory, bytes, sink.at);
    }
}
