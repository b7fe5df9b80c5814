// Measures the constants of crates/ptx_sim/src/explain/costs.rs on the first GPU, one line for each reading.
//
//     nvcc -std=c++17 -O3 -arch=native bench/model/constants/*.cu -o constants && ./constants
#include "constants.h"
#include <cstring>

Facts facts;

int main(int argc, char** argv) {
    cudaDeviceProp device;
    CHECK(cudaGetDeviceProperties(&device, 0));
    int khz = 0, bits = 0, sm = 0;
    CHECK(cudaDeviceGetAttribute(&khz, cudaDevAttrMemoryClockRate, 0));
    CHECK(cudaDeviceGetAttribute(&bits, cudaDevAttrGlobalMemoryBusWidth, 0));
    CHECK(cudaDeviceGetAttribute(&sm, cudaDevAttrClockRate, 0));
    // Both edges of the clock carry data.
    facts = {device.multiProcessorCount, (size_t)device.l2CacheSize, 2.0 * khz * 1e3 * bits / 8 / 1e9,
             argc > 1 && !strcmp(argv[1], "quick")};
    printf("%s, %d multiprocessors, L2 %zu MiB, at most %d MHz, nominally %.0f GB/s; medians of %d [least .. most]\n",
           device.name, facts.multiprocessors, facts.l2 >> 20, sm / 1000, facts.nominal_gbps, REPEAT);
    raise_clocks();
    launches();
    units();
    products();
    barriers();
    latencies();
    cached();
    bandwidths();
    stores();
    partial();
    atomics();
    return 0;
}
