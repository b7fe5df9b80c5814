// Latency and throughput of arithmetic, branches, fences and shuffles.
#include "constants.h"

constexpr int UNROLL = 64;

// Chains that run side by side are unrolled less, so that divisions do not fill the instruction cache.
template <int CHAINS>
constexpr int STEPS = UNROLL / CHAINS;

// Steps that depend on their own result, so that none starts before the one before it has ended.
struct Fma32 {
    static __device__ float step(float x, float y) { return fmaf(x, y, y); }
};
struct Fma64 {
    static __device__ double step(double x, double y) { return fma(x, y, y); }
};
// Two operations that ptxas cannot merge, as sums alone would be.
struct Integer {
    static __device__ unsigned step(unsigned x, unsigned y) { return (x ^ y) + y; }
};
struct Multiply {
    static __device__ unsigned step(unsigned x, unsigned y) { return x * y + y; }
};
struct Divide32 {
    static __device__ float step(float x, float y) { return y / x; }
};
struct Root32 {
    static __device__ float step(float x, float y) { return sqrtf(x); }
};
struct ReciprocalRoot32 {
    static __device__ float step(float x, float y) { return rsqrtf(x); }
};
struct FastExponential {
    static __device__ float step(float x, float y) { return __expf(x); }
};
struct Exponential {
    static __device__ float step(float x, float y) { return expf(x); }
};
struct FastSine {
    static __device__ float step(float x, float y) { return __sinf(x); }
};
struct Logarithm {
    static __device__ float step(float x, float y) { return logf(fabsf(x)); }
};
struct Divide64 {
    static __device__ double step(double x, double y) { return y / x; }
};
struct Shuffle {
    static __device__ unsigned step(unsigned x, unsigned y) { return __shfl_xor_sync(~0u, x, y); }
};
struct Ballot {
    static __device__ unsigned step(unsigned x, unsigned y) { return __ballot_sync(~0u, x > y); }
};

// CHAINS independent chains per thread. A loop of unknown length keeps the steps between the two reads of the clock.
template <typename Step, int CHAINS, typename T>
__global__ void chain(T* values, T other, int rounds, long long* cycles) {
    T x[CHAINS];
    for (int k = 0; k < CHAINS; k++) x[k] = values[threadIdx.x] + (T)(k + 1);
    __syncthreads();
    long long start = clock64();
#pragma unroll 1
    for (int round = 0; round < rounds; round++) {
#pragma unroll
        for (int i = 0; i < STEPS<CHAINS>; i++) {
#pragma unroll
            for (int k = 0; k < CHAINS; k++) x[k] = Step::step(x[k], other);
        }
    }
    __syncthreads();
    long long stop = clock64();
    T sum = x[0];
    for (int k = 1; k < CHAINS; k++) sum += x[k];
    values[threadIdx.x] = sum;
    if (threadIdx.x == 0) *cycles = stop - start;
}

// A loop of one step: a counter, a comparison and a branch.
__global__ void loop(float* values, float other, int rounds, long long* cycles) {
    float x = values[threadIdx.x];
    long long start = clock64();
#pragma unroll 1
    for (int round = 0; round < rounds * UNROLL; round++) x = fmaf(x, other, other);
    long long stop = clock64();
    values[threadIdx.x] = x;
    if (threadIdx.x == 0) *cycles = stop - start;
}

template <bool STORE>
__global__ void fences(volatile unsigned* memory, int rounds, long long* cycles) {
    long long start = clock64();
#pragma unroll 1
    for (int round = 0; round < rounds; round++) {
        if (STORE) memory[threadIdx.x] = round;
        __threadfence();
    }
    long long stop = clock64();
    if (threadIdx.x == 0) *cycles = stop - start;
}

// `each` is the number of operations of a step.
template <typename Step, typename T>
static Spread latency(T other, int each = 1) {
    Memory<T> values(32);
    return per_step(UNROLL * each, [&](int rounds, long long* cycles) {
        chain<Step, 1><<<1, 32>>>(values.at, other, rounds, cycles);
    });
}

// Cycles that a partition needs for a warp's operation: 16 warps are four for each of four partitions.
template <typename Step, typename T>
static Spread busy(T other, int each = 1) {
    constexpr int CHAINS = 4;
    Memory<T> values(512);
    return per_step(STEPS<CHAINS> * each * 4 * CHAINS, [&](int rounds, long long* cycles) {
        chain<Step, CHAINS><<<1, 512>>>(values.at, other, rounds, cycles);
    });
}

template <typename Step, typename T>
static void special(const char* what, T other) {
    row("special_cycles", latency<Step>(other), "cycles", std::string(what) + ", dependent");
    row("special_slots", busy<Step>(other), "cycles", std::string(what) + ", 16 warps of 4 chains: of a partition");
}

void units() {
    Spread alu = latency<Fma32>(0.5f);
    row("alu_cycles", alu, "cycles", "f32 multiply-add, dependent");
    row("alu_cycles", latency<Integer>(12345u, 2), "cycles", "exclusive or and sum of integers, dependent");
    row("alu_cycles", latency<Multiply>(12345u), "cycles", "integer multiply-add, dependent");
    row("integer_busy", busy<Integer>(12345u, 2), "cycles", "exclusive or and sum, 16 warps of 4 chains, each");
    row("integer_busy", busy<Multiply>(12345u), "cycles", "integer multiply-add, 16 warps of 4 chains");
    row("double_cycles", latency<Fma64>(0.5), "cycles", "f64 multiply-add, dependent");
    row("double_busy", busy<Fma64>(0.5), "cycles", "f64 multiply-add, 16 warps of 4 chains");
    special<Divide32>("f32 division", 1.5f);
    special<Root32>("sqrtf", 1.5f);
    special<ReciprocalRoot32>("rsqrtf", 1.5f);
    special<FastExponential>("__expf", 1.5f);
    special<Exponential>("expf", 1.5f);
    special<FastSine>("__sinf", 1.5f);
    special<Logarithm>("logf", 1.5f);
    special<Divide64>("f64 division", 1.5);
    Memory<float> values(32);
    Spread turn = per_step(UNROLL, [&](int rounds, long long* cycles) {
        loop<<<1, 32>>>(values.at, 0.5f, rounds, cycles);
    });
    row("branch_cycles", turn, "cycles", "a round of a loop: counter, comparison and branch");
    row("branch_cycles", less(turn, 2 * alu.median), "cycles", "the same less two dependent operations");
    Memory<unsigned> memory(32);
    auto fence = [&](auto kernel) {
        return per_step(1, [&](int rounds, long long* cycles) { kernel<<<1, 32>>>(memory.at, rounds, cycles); });
    };
    row("fence_cycles", fence(fences<true>), "cycles", "a store and __threadfence, one warp");
    row("fence_cycles", fence(fences<false>), "cycles", "__threadfence alone, one warp");
    row("shuffle_cycles", latency<Shuffle>(1u), "cycles", "__shfl_xor_sync, dependent");
    row("shuffle_cycles", latency<Ballot>(1u), "cycles", "comparison and __ballot_sync, dependent");
    row("shuffle_cycles", busy<Shuffle>(1u), "cycles", "__shfl_xor_sync, 16 warps of 4 chains: per partition and warp");
}
