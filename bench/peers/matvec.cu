// cuBLAS's product of a matrix and a vector, the matrix also stored transposed: the faster of gemv (strided batched with a batch of one for f16 and
// bf16, which have no other) and of gemm with one column; products of f16 and bf16 are f32; see peer.h.
//
//     nvcc -O3 -std=c++17 -arch=native bench/peers/matvec.cu -lcublas -o target/peers/matvec
#include <cublas_v2.h>
#include <algorithm>
#include "peer.h"

static void check(cublasStatus_t status) {
    if (status != CUBLAS_STATUS_SUCCESS) {
        fprintf(stderr, "cuBLAS: %s\n", cublasGetStatusString(status));
        exit(1);
    }
}

// A row-major matrix is a column-major one transposed: its lines are columns of `length` elements.
struct Stored {
    int64_t rows, columns, lines, length;
    cublasOperation_t op;

    explicit Stored(const Request& request) {
        rows = request.size.at(0), columns = request.size.size() > 1 ? request.size[1] : rows;
        bool transposed = request.flag("transpose-a");
        lines = transposed ? columns : rows, length = transposed ? rows : columns;
        op = transposed ? CUBLAS_OP_N : CUBLAS_OP_T;
    }
};

static cublasStatus_t gemv(cublasHandle_t handle, const Stored& s, const float* a, const float* x, float* y) {
    float one = 1, zero = 0;
    return cublasSgemv_64(handle, s.op, s.length, s.lines, &one, a, s.length, x, 1, &zero, y, 1);
}

static cublasStatus_t gemv(cublasHandle_t handle, const Stored& s, const double* a, const double* x, double* y) {
    double one = 1, zero = 0;
    return cublasDgemv_64(handle, s.op, s.length, s.lines, &one, a, s.length, x, 1, &zero, y, 1);
}

static cublasStatus_t gemv(cublasHandle_t handle, const Stored& s, const __half* a, const __half* x, float* y) {
    float one = 1, zero = 0;
    return cublasHSSgemvStridedBatched_64(handle, s.op, s.length, s.lines, &one, a, s.length, 0, x, 1, 0, &zero, y, 1, 0, 1);
}

static cublasStatus_t gemv(cublasHandle_t handle, const Stored& s, const __nv_bfloat16* a, const __nv_bfloat16* x, float* y) {
    float one = 1, zero = 0;
    return cublasTSSgemvStridedBatched_64(handle, s.op, s.length, s.lines, &one, a, s.length, 0, x, 1, 0, &zero, y, 1, 0, 1);
}

template <typename T, typename O>
void run_matvec(const Request& request, cudaDataType type, cudaDataType product, cublasComputeType_t compute) {
    Stored s(request);
    T *a = request.generate<T>(s.rows * s.columns, 0), *x = request.generate<T>(s.columns, 1);
    O* y;
    CHECK(cudaMalloc(&y, std::max<size_t>(s.rows, 1) * sizeof(O)));
    cublasHandle_t handle;
    check(cublasCreate(&handle));
    O one = 1, zero = 0;
    auto by_gemv = [&] { return gemv(handle, s, a, x, y); };
    auto by_gemm = [&] {
        return cublasGemmEx_64(handle, s.op, CUBLAS_OP_N, s.rows, 1, s.columns, &one, a, type, s.length, x, type, s.columns, &zero, y, product,
                               s.rows, compute, CUBLAS_GEMM_DEFAULT);
    };
    // The median of several; infinite where there is no algorithm.
    auto time = [&](auto run) {
        cudaEvent_t start, stop;
        CHECK(cudaEventCreate(&start));
        CHECK(cudaEventCreate(&stop));
        std::vector<float> samples;
        for (int i = 0; i < 12; i++) {
            CHECK(cudaEventRecord(start));
            if (run() != CUBLAS_STATUS_SUCCESS) return INFINITY;
            CHECK(cudaEventRecord(stop));
            CHECK(cudaEventSynchronize(stop));
            float ms;
            CHECK(cudaEventElapsedTime(&ms, start, stop));
            if (i > 2) samples.push_back(ms);
        }
        std::sort(samples.begin(), samples.end());
        return samples[samples.size() / 2];
    };
    bool gemm = time(by_gemm) < time(by_gemv);
    auto run = [&] { check(gemm ? by_gemm() : by_gemv()); };
    const char* name = gemm ? "cuBLAS gemm" : "cuBLAS gemv";
    size_t bytes = (s.rows * s.columns + s.columns) * sizeof(T) + s.rows * sizeof(O);
    measure(request, name, bytes, y, {(size_t)s.rows}, sizeof(O) == 8 ? "f64" : "f32", run);
}

int main(int argc, char** argv) {
    Request request(argc, argv);
    if (request.dtype == "f32") return run_matvec<float, float>(request, CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F_PEDANTIC), 0;
    if (request.dtype == "f64") return run_matvec<double, double>(request, CUDA_R_64F, CUDA_R_64F, CUBLAS_COMPUTE_64F), 0;
    if (request.dtype == "f16") return run_matvec<__half, float>(request, CUDA_R_16F, CUDA_R_32F, CUBLAS_COMPUTE_32F), 0;
    if (request.dtype == "bf16") return run_matvec<__nv_bfloat16, float>(request, CUDA_R_16BF, CUDA_R_32F, CUBLAS_COMPUTE_32F), 0;
    return 2;
}
