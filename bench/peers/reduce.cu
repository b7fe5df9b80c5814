// CUB's DeviceReduce; see peer.h.
//
//     nvcc -O3 -std=c++17 -arch=native bench/peers/reduce.cu -o target/peers/reduce
#include <cub/cub.cuh>
#include "peer.h"

// Callers with fewer than 2^31 elements pass an int, which is CUB's faster path.
template <typename T, typename N>
void reduce(void* temp, size_t& bytes, const T* in, T* out, N n, const std::string& op) {
    if (op == "sum") {
        CHECK(cub::DeviceReduce::Sum(temp, bytes, in, out, n));
    } else if (op == "max") {
        CHECK(cub::DeviceReduce::Max(temp, bytes, in, out, n));
    } else {
        CHECK(cub::DeviceReduce::Min(temp, bytes, in, out, n));
    }
}

template <typename T>
void run_reduce(const Request& request) {
    size_t n = request.size.at(0);
    T *in = request.generate<T>(n), *out;
    CHECK(cudaMalloc(&out, sizeof(T)));
    void* temp = nullptr;
    size_t temp_bytes = 0;
    auto run = [&] {
        if (n < (1ull << 31)) {
            reduce(temp, temp_bytes, in, out, (int)n, request.op);
        } else {
            reduce(temp, temp_bytes, in, out, (int64_t)n, request.op);
        }
    };
    run();  // without memory CUB only returns the size that it needs
    CHECK(cudaMalloc(&temp, temp_bytes));
    std::string library = "CUB " + std::to_string(CUB_MAJOR_VERSION) + "." + std::to_string(CUB_MINOR_VERSION) + "." + std::to_string(CUB_SUBMINOR_VERSION);
    measure(request, library.c_str(), n * sizeof(T), out, {1}, request.dtype.c_str(), run);
}

int main(int argc, char** argv) {
    Request request(argc, argv);
    if (request.op.rfind("arg", 0) == 0 || request.op.find("_bit") != std::string::npos) return 0;  // only reductions of values are measured
    bool known = with_dtype(request.dtype, [&](auto* type) { run_reduce<std::remove_pointer_t<decltype(type)>>(request); });
    return known ? 0 : 2;
}
