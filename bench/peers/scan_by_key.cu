// CUB's DeviceScan by key; see peer.h.
//
//     nvcc -O3 -std=c++17 -arch=native bench/peers/scan_by_key.cu -o target/peers/scan_by_key
#include <cub/cub.cuh>
#include "lengths.h"
#include "operations.h"

template <typename T, typename N>
void scan(void* temp, size_t& bytes, const uint32_t* keys, const T* in, T* out, N n, const Request& request) {
    using cub::DeviceScan;
    bool exclusive = request.flag("exclusive");
    if (request.op == "sum") {
        CHECK(exclusive ? DeviceScan::ExclusiveSumByKey(temp, bytes, keys, in, out, n)
                        : DeviceScan::InclusiveSumByKey(temp, bytes, keys, in, out, n));
    } else if (request.op == "max") {
        CHECK(exclusive ? DeviceScan::ExclusiveScanByKey(temp, bytes, keys, in, out, Max(), identity<T>(false), n)
                        : DeviceScan::InclusiveScanByKey(temp, bytes, keys, in, out, Max(), n));
    } else {
        CHECK(exclusive ? DeviceScan::ExclusiveScanByKey(temp, bytes, keys, in, out, Min(), identity<T>(true), n)
                        : DeviceScan::InclusiveScanByKey(temp, bytes, keys, in, out, Min(), n));
    }
}

template <typename T>
void run_scan(const Request& request) {
    size_t n = request.size.at(0);
    auto ends = offsets<uint64_t>(n, request);
    std::vector<uint32_t> runs(n);
    for (size_t run = 0; run + 1 < ends.size(); run++) std::fill(runs.begin() + ends[run], runs.begin() + ends[run + 1], (uint32_t)run);
    T *in = request.generate<T>(n), *out;
    uint32_t* keys;
    CHECK(cudaMalloc(&out, std::max<size_t>(n, 1) * sizeof(T)));
    CHECK(cudaMalloc(&keys, std::max<size_t>(n, 1) * sizeof(uint32_t)));
    CHECK(cudaMemcpy(keys, runs.data(), n * sizeof(uint32_t), cudaMemcpyHostToDevice));
    void* temp = nullptr;
    size_t temp_bytes = 0;
    auto run = [&] {
        // Callers with fewer than 2^31 elements pass 32 bits.
        if (n < (1ull << 31)) {
            scan(temp, temp_bytes, keys, in, out, (uint32_t)n, request);
        } else {
            scan(temp, temp_bytes, keys, in, out, (uint64_t)n, request);
        }
    };
    run();  // without memory CUB only returns the size that it needs
    CHECK(cudaMalloc(&temp, temp_bytes));
    std::string library = "CUB " + std::to_string(CUB_MAJOR_VERSION) + "." + std::to_string(CUB_MINOR_VERSION) + "." + std::to_string(CUB_SUBMINOR_VERSION);
    measure(request, library.c_str(), n * (2 * sizeof(T) + sizeof(uint32_t)), out, {n}, request.dtype.c_str(), run);
}

int main(int argc, char** argv) {
    Request request(argc, argv);
    bool known = with_dtype(request.dtype, [&](auto* type) { run_scan<std::remove_pointer_t<decltype(type)>>(request); });
    return known ? 0 : 2;
}
