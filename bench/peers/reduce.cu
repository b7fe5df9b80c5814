// CUB's DeviceReduce, of f16 and bf16 with each element converted to float as it is read; see peer.h.
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

struct Widen {
    template <typename T>
    __host__ __device__ float operator()(T x) const { return static_cast<float>(x); }
};

// The same of 16-bit floats. CUB's own functions would add them in 16 bits.
template <typename T, typename N>
void reduce_widened(void* temp, size_t& bytes, const T* in, float* out, N n, const std::string& op) {
    if (op == "sum") {
        CHECK(cub::DeviceReduce::TransformReduce(temp, bytes, in, out, n, cuda::std::plus<>{}, Widen{}, 0.0f));
    } else if (op == "max") {
        CHECK(cub::DeviceReduce::TransformReduce(temp, bytes, in, out, n, cuda::maximum<>{}, Widen{}, -INFINITY));
    } else {
        CHECK(cub::DeviceReduce::TransformReduce(temp, bytes, in, out, n, cuda::minimum<>{}, Widen{}, INFINITY));
    }
}

template <typename T, typename Result = T>
void run_reduce(const Request& request) {
    size_t n = request.size.at(0);
    T* in = request.generate<T>(n);
    Result* out;
    CHECK(cudaMalloc(&out, sizeof(Result)));
    void* temp = nullptr;
    size_t temp_bytes = 0;
    auto run = [&] {
        auto with = [&](auto n) {
            if constexpr (std::is_same_v<T, Result>) {
                reduce(temp, temp_bytes, in, out, n, request.op);
            } else {
                reduce_widened(temp, temp_bytes, in, out, n, request.op);
            }
        };
        n < (1ull << 31) ? with((int)n) : with((int64_t)n);
    };
    run();  // without memory CUB only returns the size that it needs
    CHECK(cudaMalloc(&temp, temp_bytes));
    std::string library = "CUB " + std::to_string(CUB_MAJOR_VERSION) + "." + std::to_string(CUB_MINOR_VERSION) + "." + std::to_string(CUB_SUBMINOR_VERSION);
    measure(request, library.c_str(), n * sizeof(T), out, {1}, std::is_same_v<T, Result> ? request.dtype.c_str() : "f32", run);
}

int main(int argc, char** argv) {
    Request request(argc, argv);
    if (request.op.rfind("arg", 0) == 0 || request.op.find("_bit") != std::string::npos) return 0;  // only reductions of values are measured
    if (request.dtype == "f16") return run_reduce<__half, float>(request), 0;
    if (request.dtype == "bf16") return run_reduce<__nv_bfloat16, float>(request), 0;
    bool known = with_dtype(request.dtype, [&](auto* type) { run_reduce<std::remove_pointer_t<decltype(type)>>(request); });
    return known ? 0 : 2;
}
