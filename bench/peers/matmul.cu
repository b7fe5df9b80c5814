// cuBLAS's gemm for f32 (without tf32) and f64, and the fastest of cublasLt's algorithms for f16, bf16 (with sums in f32), fp8 (with fast
// sums, to bf16) and i8 (to i32), with each factor also stored transposed, where cublasLt has such algorithms; see peer.h.
//
//     nvcc -O3 -std=c++17 -arch=native bench/peers/matmul.cu -lcublas -lcublasLt -o target/peers/matmul
#include <cublasLt.h>
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

template <typename T>
void run_matmul(const Request& request) {
    size_t m = request.size.at(0), n = request.size.size() > 2 ? request.size[1] : m, k = request.size.size() > 2 ? request.size[2] : m;
    bool turned_a = request.flag("transpose-a"), turned_b = request.flag("transpose-b");
    T *a = request.generate<T>(m * k, 0), *b = request.generate<T>(k * n, 1), *c;
    CHECK(cudaMalloc(&c, std::max<size_t>(m * n, 1) * sizeof(T)));
    cublasHandle_t handle;
    check(cublasCreate(&handle));
    // Forbid tf32, whatever the environment sets.
    check(cublasSetMathMode(handle, CUBLAS_PEDANTIC_MATH));
    // A row-major matrix is a column-major one transposed, and (A B)^T = B^T A^T: B is the left factor.
    auto op = [](bool turned) { return turned ? CUBLAS_OP_T : CUBLAS_OP_N; };
    int lda = (int)(turned_a ? m : k), ldb = (int)(turned_b ? k : n);
    auto run = [&] { check(gemm(handle, op(turned_b), op(turned_a), (int)n, (int)m, (int)k, b, ldb, a, lda, c)); };
    measure(request, "cuBLAS", (m * k + k * n + m * n) * sizeof(T), c, {m, n}, request.dtype.c_str(), run);
}

// Products of narrow types: factors T, product O.
template <typename T, typename O>
void run_narrow(const Request& request, cudaDataType type, cudaDataType product, cublasComputeType_t compute, cudaDataType scale) {
    const size_t WORKSPACE = 64 << 20;
    // MxNxK, BxMxNxK for a batch, or one number for a cube.
    std::vector<size_t> sides(request.size.begin(), request.size.end());
    bool batch = sides.size() > 3;
    size_t products = batch ? sides[0] : 1;
    if (batch) sides.erase(sides.begin());
    size_t m = sides.at(0), n = sides.size() > 2 ? sides[1] : m, k = sides.size() > 2 ? sides[2] : m;
    bool turned_a = request.flag("transpose-a"), turned_b = request.flag("transpose-b");
    T *a = request.generate<T>(products * m * k, 0), *b = request.generate<T>(products * k * n, 1);
    O* c;
    void* workspace;
    CHECK(cudaMalloc(&c, std::max<size_t>(products * m * n, 1) * sizeof(O)));
    CHECK(cudaMalloc(&workspace, WORKSPACE));
    cublasLtHandle_t handle;
    check(cublasLtCreate(&handle));
    cublasLtMatmulDesc_t operation;
    check(cublasLtMatmulDescCreate(&operation, compute, scale));
    // As above, B is the left factor.
    cublasOperation_t left = turned_b ? CUBLAS_OP_T : CUBLAS_OP_N, right = turned_a ? CUBLAS_OP_T : CUBLAS_OP_N;
    check(cublasLtMatmulDescSetAttribute(operation, CUBLASLT_MATMUL_DESC_TRANSA, &left, sizeof left));
    check(cublasLtMatmulDescSetAttribute(operation, CUBLASLT_MATMUL_DESC_TRANSB, &right, sizeof right));
    if (type == CUDA_R_8F_E4M3) {
        int8_t fast = 1;
        check(cublasLtMatmulDescSetAttribute(operation, CUBLASLT_MATMUL_DESC_FAST_ACCUM, &fast, sizeof fast));
    }
    cublasLtMatrixLayout_t layout_a, layout_b, layout_c;
    check(cublasLtMatrixLayoutCreate(&layout_b, type, turned_b ? k : n, turned_b ? n : k, turned_b ? k : n));
    check(cublasLtMatrixLayoutCreate(&layout_a, type, turned_a ? m : k, turned_a ? k : m, turned_a ? m : k));
    check(cublasLtMatrixLayoutCreate(&layout_c, product, n, m, n));
    auto repeat = [&](cublasLtMatrixLayout_t layout, size_t step) {
        int32_t matrices = (int32_t)products;
        int64_t apart = (int64_t)step;
        check(cublasLtMatrixLayoutSetAttribute(layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &matrices, sizeof matrices));
        check(cublasLtMatrixLayoutSetAttribute(layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &apart, sizeof apart));
    };
    repeat(layout_a, m * k), repeat(layout_b, k * n), repeat(layout_c, m * n);
    cublasLtMatmulPreference_t preference;
    check(cublasLtMatmulPreferenceCreate(&preference));
    check(cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &WORKSPACE, sizeof WORKSPACE));
    cublasLtMatmulHeuristicResult_t found[8];
    int count = 0;
    cublasStatus_t status =
        cublasLtMatmulAlgoGetHeuristic(handle, operation, layout_b, layout_a, layout_c, layout_c, preference, 8, found, &count);
    if (status != CUBLAS_STATUS_SUCCESS || count == 0) return;  // no algorithm for these types, sizes and storage orders
    float one = 1, zero = 0;
    int32_t whole = 1, nothing = 0;
    const void* alpha = scale == CUDA_R_32I ? (void*)&whole : &one;
    const void* beta = scale == CUDA_R_32I ? (void*)&nothing : &zero;
    auto run = [&](int i) {
        check(cublasLtMatmul(handle, operation, alpha, b, layout_b, a, layout_a, beta, c, layout_c, c, layout_c, &found[i].algo, workspace,
                             WORKSPACE, 0));
    };
    cudaEvent_t start, stop;
    CHECK(cudaEventCreate(&start));
    CHECK(cudaEventCreate(&stop));
    int best = 0;
    float least = 0;
    for (int i = 0; i < count; i++) {
        for (int j = 0; j < 3; j++) run(i);
        CHECK(cudaEventRecord(start));
        for (int j = 0; j < 10; j++) run(i);
        CHECK(cudaEventRecord(stop));
        CHECK(cudaEventSynchronize(stop));
        float ms;
        CHECK(cudaEventElapsedTime(&ms, start, stop));
        if (i == 0 || ms < least) best = i, least = ms;
    }
    const char* dtype = product == CUDA_R_32I ? "i32" : product == CUDA_R_16F ? "f16" : product == CUDA_R_16BF ? "bf16" : "f32";
    std::vector<size_t> shape = {m, n};
    if (batch) shape.insert(shape.begin(), products);
    measure(request, "cuBLAS", products * ((m * k + k * n) * sizeof(T) + m * n * sizeof(O)), c, shape, dtype, [&] { run(best); });
}

int main(int argc, char** argv) {
    Request request(argc, argv);
    const std::string& dtype = request.dtype;
    if (dtype == "f32") return run_matmul<float>(request), 0;
    if (dtype == "f64") return run_matmul<double>(request), 0;
    if (dtype == "f16") return run_narrow<__half, __half>(request, CUDA_R_16F, CUDA_R_16F, CUBLAS_COMPUTE_32F, CUDA_R_32F), 0;
    if (dtype == "bf16") return run_narrow<__nv_bfloat16, __nv_bfloat16>(request, CUDA_R_16BF, CUDA_R_16BF, CUBLAS_COMPUTE_32F, CUDA_R_32F), 0;
    if (dtype == "f8") return run_narrow<__nv_fp8_e4m3, __nv_bfloat16>(request, CUDA_R_8F_E4M3, CUDA_R_16BF, CUBLAS_COMPUTE_32F, CUDA_R_32F), 0;
    if (dtype == "i8") return run_narrow<int8_t, int32_t>(request, CUDA_R_8I, CUDA_R_32I, CUBLAS_COMPUTE_32I, CUDA_R_32I), 0;
    // For measuring by hand: f32 factors as tf32.
    if (dtype == "tf32") return run_narrow<float, float>(request, CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F_FAST_TF32, CUDA_R_32F), 0;
    return 0;  // cuBLAS does not support the type
}
