// Algorithms of Thrust that read and write the same memory: right, and with findings about CUB. Its blocks overwrite what
// earlier blocks have read, and signal that by relaxed accesses, which order nothing in the memory model of PTX: CUB's
// `agent_select_if.cuh` wants release and acquire only where a block's input does not pass through shared memory.
// finds in a header: race-war
// finds in a header: race-scope
// That of CUDA 12.9 also reads by `ld.global.nc`, for memory that nothing writes during a launch.
// finds in a header with CUDA 12: nc-written
#include "data.h"
#include <algorithm>
#include <thrust/device_vector.h>
#include <thrust/remove.h>
#include <thrust/unique.h>

struct Negative { __host__ __device__ bool operator()(int value) const { return value < 0; } };

int main() {
    for (int n : SIZES) {
        Numbers numbers(n);
        std::vector<int> values(n), kept = numbers.ints(n, 1000);
        for (int i = 1; i < n; ++i) values[i] = values[i - 1] + (numbers.next() % 3 == 0);
        thrust::device_vector<int> device(values.begin(), values.end()), others(kept.begin(), kept.end());
        device.resize(thrust::unique(device.begin(), device.end()) - device.begin());
        values.erase(std::unique(values.begin(), values.end()), values.end());
        std::vector<int> back(device.size());
        thrust::copy(device.begin(), device.end(), back.begin());
        CHECK(back == values);
        others.resize(thrust::remove_if(others.begin(), others.end(), Negative()) - others.begin());
        kept.erase(std::remove_if(kept.begin(), kept.end(), Negative()), kept.end());
        back.resize(others.size());
        thrust::copy(others.begin(), others.end(), back.begin());
        CHECK(back == kept);
    }
    return finish();
}
