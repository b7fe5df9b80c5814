// cuBLAS's gemm for f32 (without tf32) and f64, and its batched gemm for a size of four numbers; and the fastest of cublasLt's algorithms
// for f16, bf16 (with sums in f32), fp8 (with fast sums, to bf16), i8 (to i32), and f32 as tf32 beside f32 in the families of tensor cores. Each
// factor also stored transposed, where cublasLt has such algorithms; uniform or normal; see peer.h.
//
//     nvcc -O3 -std=c++17 -arch=native bench/peers/matmul.cu -lcublas -lcublasLt -o target/peers/matmul
#include <cublasLt.h>
#include <cublas_v2.h>
#include "normal.h"
#include "peer.h"

static void check(cublasStatus_t status) {
    if (status != CUBLAS_STATUS_SUCCESS) {
        fprintf(stderr, "cuBLAS: %s\n", cublasGetStatusString(status));
        exit(1);
    }
}

// The products of a request: MxNxK, BxMxNxK for a batch of B that follow each other without gaps, or one number for a cube.
struct Products {
    size_t count = 1, m, n, k;
    bool is_batch;

    explicit Products(const Request& request) : is_batch(request.size.size() == 4) {
        std::vector<size_t> size = request.size;
        if (size.size() == 1) size.assign(3, size[0]);
        if (size.size() != 3 && size.size() != 4) {
            fprintf(stderr, "matmul takes MxNxK, BxMxNxK, or one number\n");
            exit(2);
        }
        if (is_batch) count = size[0], size.erase(size.begin());
        m = size[0], n = size[1], k = size[2];
    }

    // Shape of the result.
    std::vector<size_t> shape() const { return is_batch ? std::vector<size_t>{count, m, n} : std::vector<size_t>{m, n}; }

    // Elements of all matrices of A, of B and of the products.
    size_t a() const { return count * m * k; }
    size_t b() const { return count * k * n; }
    size_t c() const { return count * m * n; }
};

// The operands as cuBLAS takes them: a row-major matrix is a column-major one transposed, and (A B)^T = B^T A^T, so B is the left factor.
struct Call {
    cublasOperation_t left, right;
    int m, n, k, ld_left, ld_right;
    long long stride_left, stride_right, stride_product;
    int count;
    bool is_batch;

    Call(const Products& products, bool turned_a, bool turned_b) {
        auto op = [](bool turned) { return turned ? CUBLAS_OP_T : CUBLAS_OP_N; };
        left = op(turned_b), right = op(turned_a);
        m = (int)products.n, n = (int)products.m, k = (int)products.k;
        ld_left = turned_b ? k : m, ld_right = turned_a ? n : k;
        stride_left = (long long)m * k, stride_right = (long long)k * n, stride_product = (long long)m * n;
        count = (int)products.count, is_batch = products.is_batch;
    }
};

static cublasStatus_t gemm(cublasHandle_t handle, const Call& x, const float* left, const float* right, float* c) {
    float one = 1, zero = 0;
    if (!x.is_batch) {
        return cublasSgemm(handle, x.left, x.right, x.m, x.n, x.k, &one, left, x.ld_left, right, x.ld_right, &zero, c, x.m);
    }
    return cublasSgemmStridedBatched(handle, x.left, x.right, x.m, x.n, x.k, &one, left, x.ld_left, x.stride_left, right, x.ld_right,
                                     x.stride_right, &zero, c, x.m, x.stride_product, x.count);
}

static cublasStatus_t gemm(cublasHandle_t handle, const Call& x, const double* left, const double* right, double* c) {
    double one = 1, zero = 0;
    if (!x.is_batch) {
        return cublasDgemm(handle, x.left, x.right, x.m, x.n, x.k, &one, left, x.ld_left, right, x.ld_right, &zero, c, x.m);
    }
    return cublasDgemmStridedBatched(handle, x.left, x.right, x.m, x.n, x.k, &one, left, x.ld_left, x.stride_left, right, x.ld_right,
                                     x.stride_right, &zero, c, x.m, x.stride_product, x.count);
}

template <typename T>
void run_matmul(const Request& request) {
    Products products(request);
    T *a = generate<T>(request, products.a(), 0), *b = generate<T>(request, products.b(), 1), *c;
    CHECK(cudaMalloc(&c, std::max<size_t>(products.c(), 1) * sizeof(T)));
    cublasHandle_t handle;
    check(cublasCreate(&handle));
    // Forbid tf32, whatever the environment sets.
    check(cublasSetMathMode(handle, CUBLAS_PEDANTIC_MATH));
    Call call(products, request.flag("transpose-a"), request.flag("transpose-b"));
    auto run = [&] { check(gemm(handle, call, b, a, c)); };
    measure(request, "cuBLAS", (products.a() + products.b() + products.c()) * sizeof(T), c, products.shape(), request.dtype.c_str(), run);
}

// Products of narrow types: factors T, product O.
template <typename T, typename O>
void run_narrow(const Request& request, cudaDataType type, cudaDataType product, cublasComputeType_t compute, cudaDataType scale,
                const char* library = "cuBLAS") {
    const size_t WORKSPACE = 64 << 20;
    Products products(request);
    size_t m = products.m, n = products.n, k = products.k;
    bool turned_a = request.flag("transpose-a"), turned_b = request.flag("transpose-b");
    T *a = generate<T>(request, products.a(), 0), *b = generate<T>(request, products.b(), 1);
    O* c;
    void* workspace;
    CHECK(cudaMalloc(&c, std::max<size_t>(products.c(), 1) * sizeof(O)));
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
        int32_t matrices = (int32_t)products.count;
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
    measure(request, library, (products.a() + products.b()) * sizeof(T) + products.c() * sizeof(O), c, products.shape(), dtype, [&] { run(best); });
}

static void run_tf32(const Request& request, const char* library) {
    run_narrow<float, float>(request, CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F_FAST_TF32, CUDA_R_32F, library);
}

int main(int argc, char** argv) {
    Request request(argc, argv);
    const std::string& dtype = request.dtype;
    if (dtype == "f32") {
        run_matmul<float>(request);
        if (request.family != "matmul") run_tf32(request, "cuBLAS-tf32");
        return 0;
    }
    if (dtype == "f64") return run_matmul<double>(request), 0;
    if (dtype == "f16") return run_narrow<__half, __half>(request, CUDA_R_16F, CUDA_R_16F, CUBLAS_COMPUTE_32F, CUDA_R_32F), 0;
    if (dtype == "bf16") return run_narrow<__nv_bfloat16, __nv_bfloat16>(request, CUDA_R_16BF, CUDA_R_16BF, CUBLAS_COMPUTE_32F, CUDA_R_32F), 0;
    if (dtype == "f8") return run_narrow<__nv_fp8_e4m3, __nv_bfloat16>(request, CUDA_R_8F_E4M3, CUDA_R_16BF, CUBLAS_COMPUTE_32F, CUDA_R_32F), 0;
    if (dtype == "i8") return run_narrow<int8_t, int32_t>(request, CUDA_R_8I, CUDA_R_32I, CUBLAS_COMPUTE_32I, CUDA_R_32I), 0;
    // For measuring by hand: f32 factors as tf32.
    if (dtype == "tf32") return run_tf32(request, "cuBLAS"), 0;
    return 0;  // cuBLAS does not support the type
}
