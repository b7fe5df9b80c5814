// cuBLAS's gemv for f32 and f64, and for f16 and bf16, with products of f32, the faster of its batched gemv of one
// matrix and its gemm with one column; the matrix also stored transposed; see peer.h.
//
//     nvcc -O3 -std=c++17 -arch=native bench/peers/matvec.cu -lcublas -o target/peers/matvec
#include <cublas_v2.h>
#include <type_traits>
#include "peer.h"

static void check(cublasStatus_t status) {
    if (status != CUBLAS_STATUS_SUCCESS) {
        fprintf(stderr, "cuBLAS: %s\n", cublasGetStatusString(status));
        exit(1);
    }
}

static cublasStatus_t gemv(cublasHandle_t handle, cublasOperation_t op, int m, int n, const float* a, const float* x, float* y) {
    float one = 1, zero = 0;
    return cublasSgemv(handle, op, m, n, &one, a, m, x, 1, &zero, y, 1);
}

static cublasStatus_t gemv(cublasHandle_t handle, cublasOperation_t op, int m, int n, const double* a, const double* x, double* y) {
    double one = 1, zero = 0;
    return cublasDgemv(handle, op, m, n, &one, a, m, x, 1, &zero, y, 1);
}

// A row-major matrix is a column-major one transposed: its lines are columns of `length` elements.
struct Stored {
    size_t rows, columns, lines, length;
    cublasOperation_t op;

    explicit Stored(const Request& request) {
        rows = request.size.at(0), columns = request.size.size() > 1 ? request.size[1] : rows;
        bool transposed = request.flag("transpose-a");
        lines = transposed ? columns : rows, length = transposed ? rows : columns;
        op = transposed ? CUBLAS_OP_N : CUBLAS_OP_T;
    }
};

template <typename T>
void run_matvec(const Request& request) {
    Stored s(request);
    T *a = request.generate<T>(s.rows * s.columns, 0), *x = request.generate<T>(s.columns, 1), *y;
    CHECK(cudaMalloc(&y, std::max<size_t>(s.rows, 1) * sizeof(T)));
    cublasHandle_t handle;
    check(cublasCreate(&handle));
    check(cublasSetMathMode(handle, CUBLAS_PEDANTIC_MATH));
    auto run = [&] { check(gemv(handle, s.op, (int)s.length, (int)s.lines, a, x, y)); };
    measure(request, "cuBLAS", (s.rows * s.columns + s.columns + s.rows) * sizeof(T), y, {s.rows}, request.dtype.c_str(), run);
}

// Entries of 16 bits: the faster of the strided batched gemv, with a batch of one, and gemm, with one column.
template <typename T>
void run_narrow(const Request& request, cudaDataType type) {
    Stored s(request);
    T *a = request.generate<T>(s.rows * s.columns, 0), *x = request.generate<T>(s.columns, 1);
    float* y;
    CHECK(cudaMalloc(&y, std::max<size_t>(s.rows, 1) * sizeof(float)));
    cublasHandle_t handle;
    check(cublasCreate(&handle));
    float one = 1, zero = 0;
    auto by_gemv = [&] {
        if constexpr (std::is_same_v<T, __half>) {
            return cublasHSSgemvStridedBatched(handle, s.op, (int)s.length, (int)s.lines, &one, a, (int)s.length, 0, x, 1, 0, &zero, y, 1, 0, 1);
        } else {
            return cublasTSSgemvStridedBatched(handle, s.op, (int)s.length, (int)s.lines, &one, a, (int)s.length, 0, x, 1, 0, &zero, y, 1, 0, 1);
        }
    };
    auto by_gemm = [&] {
        return cublasGemmEx(handle, s.op, CUBLAS_OP_N, (int)s.rows, 1, (int)s.columns, &one, a, type, (int)s.length, x, type, (int)s.columns, &zero,
                            y, CUDA_R_32F, (int)s.rows, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
    };
    auto time = [&](auto run) {
        cudaEvent_t start, stop;
        CHECK(cudaEventCreate(&start));
        CHECK(cudaEventCreate(&stop));
        for (int i = 0; i < 3; i++) check(run());
        CHECK(cudaEventRecord(start));
        for (int i = 0; i < 5; i++) check(run());
        CHECK(cudaEventRecord(stop));
        CHECK(cudaEventSynchronize(stop));
        float ms;
        CHECK(cudaEventElapsedTime(&ms, start, stop));
        return ms;
    };
    bool gemm = time(by_gemm) < time(by_gemv);
    auto run = [&] { check(gemm ? by_gemm() : by_gemv()); };
    measure(request, "cuBLAS", (s.rows * s.columns + s.columns) * sizeof(T) + s.rows * sizeof(float), y, {s.rows}, "f32", run);
}

int main(int argc, char** argv) {
    Request request(argc, argv);
    if (request.dtype == "f32") return run_matvec<float>(request), 0;
    if (request.dtype == "f64") return run_matvec<double>(request), 0;
    if (request.dtype == "f16") return run_narrow<__half>(request, CUDA_R_16F), 0;
    if (request.dtype == "bf16") return run_narrow<__nv_bfloat16>(request, CUDA_R_16BF), 0;
    return 2;
}
