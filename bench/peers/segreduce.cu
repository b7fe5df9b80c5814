// CUB's DeviceSegmentedReduce; see peer.h.
//
//     nvcc -O3 -std=c++17 -arch=native bench/peers/segreduce.cu -o target/peers/segreduce
#include <cub/cub.cuh>
#include <limits>
#include "lengths.h"

struct Largest {
    template <typename T>
    __host__ __device__ T operator()(T a, T b) const { return a > b ? a : b; }
};

struct Smallest {
    template <typename T>
    __host__ __device__ T operator()(T a, T b) const { return a < b ? a : b; }
};

template <typename T>
T highest() {
    return std::numeric_limits<T>::has_infinity ? std::numeric_limits<T>::infinity() : std::numeric_limits<T>::max();
}

template <typename T>
T lowest() {
    return std::numeric_limits<T>::has_infinity ? -std::numeric_limits<T>::infinity() : std::numeric_limits<T>::lowest();
}

template <typename T, typename N>
void run_segments(const Request& request) {
    using cub::DeviceSegmentedReduce;
    size_t n = request.size.at(0);
    auto ends = offsets<N>(n, request);
    size_t segments = ends.size() - 1;
    T *in = request.generate<T>(n), *out;
    N* at;
    CHECK(cudaMalloc(&out, std::max<size_t>(segments, 1) * sizeof(T)));
    CHECK(cudaMalloc(&at, ends.size() * sizeof(N)));
    CHECK(cudaMemcpy(at, ends.data(), ends.size() * sizeof(N), cudaMemcpyHostToDevice));
    void* temp = nullptr;
    size_t bytes = 0;
    auto run = [&] {
        if (request.op == "sum") {
            CHECK(DeviceSegmentedReduce::Sum(temp, bytes, in, out, (int)segments, at, at + 1));
        } else if (request.op == "max") {
            CHECK(DeviceSegmentedReduce::Reduce(temp, bytes, in, out, (int)segments, at, at + 1, Largest{}, lowest<T>()));
        } else {
            CHECK(DeviceSegmentedReduce::Reduce(temp, bytes, in, out, (int)segments, at, at + 1, Smallest{}, highest<T>()));
        }
    };
    run();  // without memory CUB only returns the size that it needs
    CHECK(cudaMalloc(&temp, std::max<size_t>(bytes, 1)));
    std::string library = "CUB " + std::to_string(CUB_MAJOR_VERSION) + "." + std::to_string(CUB_MINOR_VERSION) + "." + std::to_string(CUB_SUBMINOR_VERSION);
    measure(request, library.c_str(), n * sizeof(T), out, {segments}, request.dtype.c_str(), run);
}

int main(int argc, char** argv) {
    Request request(argc, argv);
    // For fewer than 2^31 elements callers use 32-bit offsets.
    bool small = request.size.at(0) < (1ull << 31);
    bool known = with_dtype(request.dtype, [&](auto* type) {
        using T = std::remove_pointer_t<decltype(type)>;
        small ? run_segments<T, int>(request) : run_segments<T, int64_t>(request);
    });
    return known ? 0 : 2;
}
