// cuBLAS's geam as a transposition, for f32 and f64; see peer.h.
//
//     nvcc -O3 -std=c++17 -arch=native bench/peers/transpose.cu -lcublas -o target/peers/transpose
#include <cublas_v2.h>
#include "peer.h"

static void check(cublasStatus_t status) {
    if (status != CUBLAS_STATUS_SUCCESS) {
        fprintf(stderr, "cuBLAS: %s\n", cublasGetStatusString(status));
        exit(1);
    }
}

static cublasStatus_t geam(cublasHandle_t handle, int m, int n, const float* in, float* out) {
    float one = 1, zero = 0;
    return cublasSgeam(handle, CUBLAS_OP_T, CUBLAS_OP_N, m, n, &one, in, n, &zero, out, m, out, m);
}

static cublasStatus_t geam(cublasHandle_t handle, int m, int n, const double* in, double* out) {
    double one = 1, zero = 0;
    return cublasDgeam(handle, CUBLAS_OP_T, CUBLAS_OP_N, m, n, &one, in, n, &zero, out, m, out, m);
}

template <typename T>
void run_transpose(const Request& request) {
    size_t rows = request.size.at(0), columns = request.size.size() > 1 ? request.size[1] : rows;
    T *in = request.generate<T>(rows * columns), *out;
    CHECK(cudaMalloc(&out, rows * columns * sizeof(T)));
    cublasHandle_t handle;
    check(cublasCreate(&handle));
    // A row-major matrix of rows x columns is a column-major one of columns x rows.
    auto run = [&] { check(geam(handle, (int)rows, (int)columns, in, out)); };
    measure(request, "cuBLAS", 2 * rows * columns * sizeof(T), out, {columns, rows}, request.dtype.c_str(), run);
}

int main(int argc, char** argv) {
    Request request(argc, argv);
    if (request.dtype == "f32") return run_transpose<float>(request), 0;
    if (request.dtype == "f64") return run_transpose<double>(request), 0;
    return 0;  // cuBLAS does not support integers
}
