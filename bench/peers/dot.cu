// cuBLAS's dot, for f32 and f64, with its result in device memory; see peer.h.
//
//     nvcc -O3 -std=c++17 -arch=native bench/peers/dot.cu -lcublas -o target/peers/dot
#include <cublas_v2.h>
#include "peer.h"

static void check(cublasStatus_t status) {
    if (status != CUBLAS_STATUS_SUCCESS) {
        fprintf(stderr, "cuBLAS: %s\n", cublasGetStatusString(status));
        exit(1);
    }
}

static cublasStatus_t dot(cublasHandle_t handle, int64_t n, const float* a, const float* b, float* out) {
    return cublasSdot_64(handle, n, a, 1, b, 1, out);
}

static cublasStatus_t dot(cublasHandle_t handle, int64_t n, const double* a, const double* b, double* out) {
    return cublasDdot_64(handle, n, a, 1, b, 1, out);
}

template <typename T>
void run_dot(const Request& request) {
    size_t n = request.size.at(0);
    T *a = request.generate<T>(n, 0), *b = request.generate<T>(n, 1), *out;
    CHECK(cudaMalloc(&out, sizeof(T)));
    cublasHandle_t handle;
    check(cublasCreate(&handle));
    // With the result in host memory every call would wait for the GPU.
    check(cublasSetPointerMode(handle, CUBLAS_POINTER_MODE_DEVICE));
    auto run = [&] { check(dot(handle, (int64_t)n, a, b, out)); };
    measure(request, "cuBLAS", 2 * n * sizeof(T), out, {1}, request.dtype.c_str(), run);
}

int main(int argc, char** argv) {
    Request request(argc, argv);
    if (request.dtype == "f32") return run_dot<float>(request), 0;
    if (request.dtype == "f64") return run_dot<double>(request), 0;
    return 2;
}
