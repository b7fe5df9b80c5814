// Latency and throughput of the tensor cores' products of single warps, `mma.sync`.
#include "constants.h"

constexpr int STEPS = 16;

// Products that add to their own sums, so that none starts before the one before it has ended.
// The factors are registers of 32 bits: four with ones, and two with zeros.
#define PRODUCT(NAME, SUM, SHAPE, REGISTER, ONES)                                                                 \
    struct NAME {                                                                                                 \
        using Sum = SUM;                                                                                          \
        static __device__ void step(Sum (&d)[4]) {                                                                \
            unsigned a = ONES, b = 0;                                                                             \
            asm volatile("mma.sync.aligned." SHAPE " {%0, %1, %2, %3}, {%4, %4, %4, %4}, {%5, %5}, {%0, %1, %2, %3};" \
                         : "+" REGISTER(d[0]), "+" REGISTER(d[1]), "+" REGISTER(d[2]), "+" REGISTER(d[3])         \
                         : "r"(a), "r"(b));                                                                       \
        }                                                                                                         \
    };
PRODUCT(F16, float, "m16n8k16.row.col.f32.f16.f16.f32", "f", 0x3c003c00)
PRODUCT(Tf32, float, "m16n8k8.row.col.f32.tf32.tf32.f32", "f", 0x3f800000)
PRODUCT(S8, int, "m16n8k32.row.col.s32.s8.s8.s32", "r", 0x01010101)

struct F64 {
    using Sum = double;
    static __device__ void step(Sum (&d)[4]) {
        double a[2] = {1.0, 1.0}, b = 0.0;
        asm volatile(
            "mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64 "
            "{%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
            : "+d"(d[0]), "+d"(d[1]), "+d"(d[2]), "+d"(d[3])
            : "d"(a[0]), "d"(a[1]), "d"(b));
    }
};

// CHAINS independent sums per warp.
template <typename Product, int CHAINS>
__global__ void products(typename Product::Sum* values, int rounds, long long* cycles) {
    typename Product::Sum sums[CHAINS][4] = {};
    __syncthreads();
    long long start = clock64();
#pragma unroll 1
    for (int round = 0; round < rounds; round++) {
#pragma unroll
        for (int i = 0; i < STEPS; i++) {
#pragma unroll
            for (int k = 0; k < CHAINS; k++) Product::step(sums[k]);
        }
    }
    __syncthreads();
    long long stop = clock64();
    for (int k = 1; k < CHAINS; k++) sums[0][0] += sums[k][0];
    values[threadIdx.x] = sums[0][0] + sums[0][1] + sums[0][2] + sums[0][3];
    if (threadIdx.x == 0) *cycles = stop - start;
}

// `least` is the number of cycles in which a partition could do it at the tensor cores' peak.
template <typename Product>
static void product(const std::string& what, double least) {
    Memory<typename Product::Sum> values(512);
    Spread alone = per_step(STEPS, [&](int rounds, long long* cycles) {
        products<Product, 1><<<1, 32>>>(values.at, rounds, cycles);
    });
    constexpr int CHAINS = 4;
    // 16 warps are four for each of four partitions.
    Spread busy = per_step(STEPS * 4 * CHAINS, [&](int rounds, long long* cycles) {
        products<Product, CHAINS><<<1, 512>>>(values.at, rounds, cycles);
    });
    row("product_cycles", less(alone, busy.median), "cycles", what + ", dependent, less the cycles below");
    row("warp_product_share", {least / busy.most, least / busy.median, least / busy.least}, "of the peak",
        what + ", 16 warps of 4 chains, each of a partition in " + std::to_string(busy.median) + " cycles");
}

void products() {
    product<F16>("m16n8k16 of f16", 4);
    product<Tf32>("m16n8k8 of tf32", 4);
    product<S8>("m16n8k32 of s8", 4);
    product<F64>("m16n8k4 of f64", 16);
}
