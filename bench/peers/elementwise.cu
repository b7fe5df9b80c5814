// Thrust's transform and CUB's DeviceTransform: `vecadd` adds two arrays, `access` doubles one; see peer.h.
//
//     nvcc -O3 -std=c++17 -arch=native bench/peers/elementwise.cu -o target/peers/elementwise
#include <cub/device/device_transform.cuh>
#include <cuda/std/tuple>
#include <thrust/execution_policy.h>
#include <thrust/transform.h>
#include "peer.h"

// Integers wrap, as ours do: signed ones are added as unsigned ones.
template <typename T>
struct Sum {
    __host__ __device__ T operator()(T a, T b) const {
        if constexpr (std::is_integral_v<T>) return (T)((std::make_unsigned_t<T>)a + (std::make_unsigned_t<T>)b);
        return a + b;
    }
};

template <typename T>
struct Double {
    __host__ __device__ T operator()(T a) const { return a + a; }
};

template <typename T>
void run_vecadd(const Request& request) {
    size_t n = request.size.at(0), bytes = 3 * n * sizeof(T);
    T *a = request.generate<T>(n, 0), *b = request.generate<T>(n, 1), *out;
    CHECK(cudaMalloc(&out, std::max<size_t>(n, 1) * sizeof(T)));
    auto policy = thrust::cuda::par_nosync;
    measure(request, "Thrust", bytes, out, {n}, request.dtype.c_str(), [&] { thrust::transform(policy, a, a + n, b, out, Sum<T>{}); });
    auto inputs = cuda::std::make_tuple(a, b);
    measure(request, "CUB", bytes, out, {n}, request.dtype.c_str(), [&] { CHECK(cub::DeviceTransform::Transform(inputs, out, n, Sum<T>{})); });
}

template <typename T>
void run_access(const Request& request) {
    size_t rows = request.size.at(0), columns = request.size.size() > 1 ? request.size[1] : rows, n = rows * columns;
    T *in = request.generate<T>(n), *out;
    CHECK(cudaMalloc(&out, std::max<size_t>(n, 1) * sizeof(T)));
    auto policy = thrust::cuda::par_nosync;
    auto thrust = [&] { thrust::transform(policy, in, in + n, out, Double<T>{}); };
    measure(request, "Thrust", 2 * n * sizeof(T), out, {rows, columns}, request.dtype.c_str(), thrust);
    auto cub = [&] { CHECK(cub::DeviceTransform::Transform(in, out, n, Double<T>{})); };
    measure(request, "CUB", 2 * n * sizeof(T), out, {rows, columns}, request.dtype.c_str(), cub);
}

int main(int argc, char** argv) {
    Request request(argc, argv);
    bool known = with_dtype(request.dtype, [&](auto* type) {
        using T = std::remove_pointer_t<decltype(type)>;
        if (request.family == "vecadd") run_vecadd<T>(request);
        if (request.family == "access") run_access<T>(request);
    });
    return known ? 0 : 2;
}
