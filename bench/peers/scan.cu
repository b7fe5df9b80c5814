// CUB's DeviceScan; see peer.h.
//
//     nvcc -O3 -std=c++17 -arch=native bench/peers/scan.cu -o target/peers/scan
#include <cub/cub.cuh>
#include "operations.h"
#include "peer.h"

// Callers with fewer than 2^31 elements pass an int, which is CUB's faster path.
template <typename T, typename N>
void scan(void* temp, size_t& bytes, const T* in, T* out, N n, const std::string& op, bool exclusive) {
    using cub::DeviceScan;
    if (op == "sum") {
        CHECK(exclusive ? DeviceScan::ExclusiveSum(temp, bytes, in, out, n) : DeviceScan::InclusiveSum(temp, bytes, in, out, n));
    } else if (op == "max") {
        CHECK(exclusive ? DeviceScan::ExclusiveScan(temp, bytes, in, out, Max(), identity<T>(false), n)
                        : DeviceScan::InclusiveScan(temp, bytes, in, out, Max(), n));
    } else {
        CHECK(exclusive ? DeviceScan::ExclusiveScan(temp, bytes, in, out, Min(), identity<T>(true), n)
                        : DeviceScan::InclusiveScan(temp, bytes, in, out, Min(), n));
    }
}

template <typename T>
void run_scan(const Request& request) {
    size_t n = request.size.at(0);
    T *in = request.generate<T>(n), *out;
    CHECK(cudaMalloc(&out, std::max<size_t>(n, 1) * sizeof(T)));
    bool exclusive = request.flag("exclusive");
    void* temp = nullptr;
    size_t temp_bytes = 0;
    auto run = [&] {
        if (n < (1ull << 31)) {
            scan(temp, temp_bytes, in, out, (int)n, request.op, exclusive);
        } else {
            scan(temp, temp_bytes, in, out, (int64_t)n, request.op, exclusive);
        }
    };
    run();  // without memory CUB only returns the size that it needs
    CHECK(cudaMalloc(&temp, temp_bytes));
    std::string library = "CUB " + std::to_string(CUB_MAJOR_VERSION) + "." + std::to_string(CUB_MINOR_VERSION) + "." + std::to_string(CUB_SUBMINOR_VERSION);
    measure(request, library.c_str(), 2 * n * sizeof(T), out, {n}, request.dtype.c_str(), run);
}

int main(int argc, char** argv) {
    Request request(argc, argv);
    bool known = with_dtype(request.dtype, [&](auto* type) { run_scan<std::remove_pointer_t<decltype(type)>>(request); });
    return known ? 0 : 2;
}
