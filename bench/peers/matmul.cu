// cuBLAS's gemm for f32 (without tf32), f64, f16 and bf16 (with sums in f32), with each factor also stored transposed; see peer.h.
//
//     nvcc -O3 -std=c++17 -arch=native bench/peers/matmul.cu -lcublas -o target/peers/matmul
#include <cublas_v2.h>
#include "peer.h"

static void check(cublasStatus_t status) {
    if (status != CUBLAS_STATUS_SUCCESS) {
        fprintf(stderr, "cuBLAS: %s\n", cublasGetStatusString(status));
        exit(1);
    }
}

static cublasStatus_t gemm(cublasHandle_t handle, cublasOperation_t left, cublasOperation_t right, int m, int n, int k, const float* a,
                           int lda, const float* b, int ldb, float* c) {
    float one = 1, zero = 0;
    return cublasSgemm(handle, left, right, m, n, k, &one, a, lda, b, ldb, &zero, c, m);
}

static cublasStatus_t gemm(cublasHandle_t handle, cublasOperation_t left, cublasOperation_t right, int m, int n, int k, const double* a,
                           int lda, const double* b, int ldb, double* c) {
    double one = 1, zero = 0;
    return cublasDgemm(handle, left, right, m, n, k, &one, a, lda, b, ldb, &zero, c, m);
}

static cublasStatus_t gemm(cublasHandle_t handle, cublasOperation_t left, cublasOperation_t right, int m, int n, int k, const void* a, int lda,
                           const void* b, int ldb, void* c, cudaDataType type) {
    float one = 1, zero = 0;
    return cublasGemmEx(handle, left, right, m, n, k, &one, a, type, lda, b, type, ldb, &zero, c, type, m, CUBLAS_COMPUTE_32F,
                        CUBLAS_GEMM_DEFAULT);
}

static cublasStatus_t gemm(cublasHandle_t handle, cublasOperation_t left, cublasOperation_t right, int m, int n, int k, const __half* a,
                           int lda, const __half* b, int ldb, __half* c) {
    return gemm(handle, left, right, m, n, k, a, lda, b, ldb, c, CUDA_R_16F);
}

static cublasStatus_t gemm(cublasHandle_t handle, cublasOperation_t left, cublasOperation_t right, int m, int n, int k,
                           const __nv_bfloat16* a, int lda, const __nv_bfloat16* b, int ldb, __nv_bfloat16* c) {
    return gemm(handle, left, right, m, n, k, a, lda, b, ldb, c, CUDA_R_16BF);
}

template <typename T>
void run_matmul(const Request& request) {
    size_t m = request.size.at(0), n = request.size.size() > 2 ? request.size[1] : m, k = request.size.size() > 2 ? request.size[2] : m;
    bool turned_a = request.flag("transpose-a"), turned_b = request.flag("transpose-b");
    T *a = request.generate<T>(m * k, 0), *b = request.generate<T>(k * n, 1), *c;
    CHECK(cudaMalloc(&c, std::max<size_t>(m * n, 1) * sizeof(T)));
    cublasHandle_t handle;
    check(cublasCreate(&handle));
    // Forbid tf32 and reduced precision of intermediate values, whatever the environment sets. Pedantic products of 16-bit floats do not
    // use the tensor cores.
    check(cublasSetMathMode(handle, sizeof(T) == 2 ? CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION : CUBLAS_PEDANTIC_MATH));
    // A row-major matrix is a column-major one transposed, and (A B)^T = B^T A^T: B is the left factor.
    auto op = [](bool turned) { return turned ? CUBLAS_OP_T : CUBLAS_OP_N; };
    int lda = (int)(turned_a ? m : k), ldb = (int)(turned_b ? k : n);
    auto run = [&] { check(gemm(handle, op(turned_b), op(turned_a), (int)n, (int)m, (int)k, b, ldb, a, lda, c)); };
    measure(request, "cuBLAS", (m * k + k * n + m * n) * sizeof(T), c, {m, n}, request.dtype.c_str(), run);
}

int main(int argc, char** argv) {
    Request request(argc, argv);
    if (request.dtype == "f32") return run_matmul<float>(request), 0;
    if (request.dtype == "f64") return run_matmul<double>(request), 0;
    if (request.dtype == "f16") return run_matmul<__half>(request), 0;
    if (request.dtype == "bf16") return run_matmul<__nv_bfloat16>(request), 0;
    return 0;  // cuBLAS does not support the type
}
