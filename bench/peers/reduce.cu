// CUB's DeviceReduce, of f16 and bf16 with each element converted to float as it is read; for a summary by an operator
// over values of its own, finished as the result is written; see peer.h.
//
//     nvcc -O3 -std=c++17 -arch=native bench/peers/reduce.cu -o target/peers/reduce
#include <cub/cub.cuh>
#include <limits>
#include <thrust/iterator/transform_output_iterator.h>
#include "peer.h"

std::string library() {
    return "CUB " + std::to_string(CUB_MAJOR_VERSION) + "." + std::to_string(CUB_MINOR_VERSION) + "." + std::to_string(CUB_SUBMINOR_VERSION);
}

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
    measure(request, library().c_str(), n * sizeof(T), out, {1}, std::is_same_v<T, Result> ? request.dtype.c_str() : "f32", run);
}

template <typename T>
void run_place(const Request& request) {
    size_t n = request.size.at(0);
    T *in = request.generate<T>(n), *value;
    int64_t* place;
    CHECK(cudaMalloc(&value, sizeof(T)));
    CHECK(cudaMalloc(&place, sizeof(int64_t)));
    void* temp = nullptr;
    size_t temp_bytes = 0;
    auto run = [&] {
        if (request.op == "argmax") {
            CHECK(cub::DeviceReduce::ArgMax(temp, temp_bytes, in, value, place, (int64_t)n));
        } else {
            CHECK(cub::DeviceReduce::ArgMin(temp, temp_bytes, in, value, place, (int64_t)n));
        }
    };
    run();
    CHECK(cudaMalloc(&temp, temp_bytes));
    measure(request, library().c_str(), n * sizeof(T), place, {1}, "u64", run);
}

// Sums of distances from the first element and of their squares, and the extremes, as ours.
template <typename T>
struct Known {
    double first, second;
    T least, most;
};

template <typename T>
struct Know {
    const T* origin;
    __device__ Known<T> operator()(T x) const {
        double distance = (double)x - (double)*origin;
        return {distance, distance * distance, x, x};
    }
};

struct Join {
    template <typename T>
    __host__ __device__ Known<T> operator()(const Known<T>& a, const Known<T>& b) const {
        return {a.first + b.first, a.second + b.second, cuda::minimum<>{}(a.least, b.least), cuda::maximum<>{}(a.most, b.most)};
    }
};

struct Summary {
    double sum, mean, variance, least, most;
};

template <typename T>
struct Finish {
    const T* origin;
    double n;
    __device__ Summary operator()(const Known<T>& all) const {
        double first = (double)*origin, distance = all.first / n;
        return {n * first + all.first, first + distance, all.second / n - distance * distance, (double)all.least, (double)all.most};
    }
};

template <typename T>
void run_summary(const Request& request) {
    size_t n = request.size.at(0);
    T* in = request.generate<T>(n);
    Summary* summary;
    CHECK(cudaMalloc(&summary, sizeof(Summary)));
    auto out = thrust::make_transform_output_iterator(summary, Finish<T>{in, (double)n});
    Known<T> none{0, 0, std::numeric_limits<T>::max(), std::numeric_limits<T>::lowest()};
    void* temp = nullptr;
    size_t temp_bytes = 0;
    auto run = [&] {
        auto with = [&](auto n) { CHECK(cub::DeviceReduce::TransformReduce(temp, temp_bytes, in, out, n, Join{}, Know<T>{in}, none)); };
        n < (1ull << 31) ? with((int)n) : with((int64_t)n);
    };
    run();
    CHECK(cudaMalloc(&temp, temp_bytes));
    measure(request, library().c_str(), n * sizeof(T), (double*)summary, {5}, "f64", run);
}

int main(int argc, char** argv) {
    Request request(argc, argv);
    if (request.op.find("_bit") != std::string::npos) return 0;  // CUB has no such operation
    if (request.dtype == "f16") return run_reduce<__half, float>(request), 0;
    if (request.dtype == "bf16") return run_reduce<__nv_bfloat16, float>(request), 0;
    bool known = with_dtype(request.dtype, [&](auto* type) {
        using T = std::remove_pointer_t<decltype(type)>;
        if (request.op.rfind("arg", 0) == 0) return run_place<T>(request);
        if (request.op == "summary") return run_summary<T>(request);
        run_reduce<T>(request);
    });
    return known ? 0 : 2;
}
