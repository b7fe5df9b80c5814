// CUB's reproducible sum (`determinism::gpu_to_gpu`) and its plain one, for `exact_sum`; see peer.h. It is no family's `peer`: its result
// does not depend on the order of the additions, but is not the correctly rounded one that the family requires.
//
//     nvcc -O3 -std=c++17 -arch=native -I CCCL/include bench/peers/reproducible_sum.cu -o target/peers/reproducible_sum
//     target/peers/reproducible_sum exact_sum "" f32 268435456 42 21 cold 0 FOLDER
//
// It needs the headers of CCCL 3.1 or later (PyPI: nvidia-cuda-cccl).
#include <cub/cub.cuh>
#include "peer.h"

#if CUB_VERSION >= 300100
template <typename T>
void run(const Request& request) {
    size_t n = request.size.at(0), bytes = 0;
    T *in = request.generate<T>(n), *out;
    void* temp = nullptr;
    CHECK(cudaMalloc(&out, sizeof(T)));
    CHECK(cub::DeviceReduce::Sum(temp, bytes, in, out, n));
    CHECK(cudaMalloc(&temp, bytes));
    std::string version = std::to_string(CUB_MAJOR_VERSION) + "." + std::to_string(CUB_MINOR_VERSION) + "." + std::to_string(CUB_SUBMINOR_VERSION);
    measure(request, ("CUB " + version).c_str(), n * sizeof(T), out, {1}, request.dtype.c_str(),
            [&] { CHECK(cub::DeviceReduce::Sum(temp, bytes, in, out, n)); });
    auto reproducible = cuda::execution::require(cuda::execution::determinism::gpu_to_gpu);
    measure(request, ("CUB-gpu_to_gpu " + version).c_str(), n * sizeof(T), out, {1}, request.dtype.c_str(),
            [&] { CHECK(cub::DeviceReduce::Sum(in, out, n, reproducible)); });
}

int main(int argc, char** argv) {
    Request request(argc, argv);
    if (request.dtype == "f32") return run<float>(request), 0;
    if (request.dtype == "f64") return run<double>(request), 0;
    fprintf(stderr, "only f32 and f64 have a reproducible sum\n");
    return 2;
}
#else
int main() {
    fprintf(stderr, "CUB %d has no reproducible sum: compile with the headers of CCCL 3.1 or later\n", CUB_VERSION);
    return 2;
}
#endif
