// cuBLAS's geam as a transposition, for f32 and f64, and NPP's transposition, for 32-bit integers and elements of 8 and 16 bits, which cuBLAS
// does not have; see peer.h and npp.h.
//
//     nvcc -O3 -std=c++17 -arch=native bench/peers/transpose.cu -lcublas -o target/peers/transpose
#include <cublas_v2.h>
#include "npp.h"

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

#if HAS_NPP
// `T` is the type of the elements, `N` the integer of its size that NPP moves.
template <typename T, typename N>
void run_npp(const Request& request, NppStatus (*transpose)(const N*, int, N*, int, NppiSize, NppStreamContext)) {
    size_t rows = request.size.at(0), columns = request.size.size() > 1 ? request.size[1] : rows;
    T *in = request.generate<T>(rows * columns), *out;
    CHECK(cudaMalloc(&out, std::max<size_t>(rows * columns, 1) * sizeof(T)));
    int from = (int)(columns * sizeof(T)), to = (int)(rows * sizeof(T));
    auto context = npp_context();
    auto call = [&] { return transpose((const N*)in, from, (N*)out, to, {(int)columns, (int)rows}, context); };
    measure_npp(request, "NPP", 2 * rows * columns * sizeof(T), out, {columns, rows}, call);
}
#endif

int main(int argc, char** argv) {
    Request request(argc, argv);
    if (request.dtype == "f32") return run_transpose<float>(request), 0;
    if (request.dtype == "f64") return run_transpose<double>(request), 0;
#if HAS_NPP
    if (request.dtype == "u8") run_npp<uint8_t>(request, NPP("idei", nppiTranspose_8u_C1R_Ctx));
    if (request.dtype == "f16") run_npp<__half>(request, NPP("idei", nppiTranspose_16u_C1R_Ctx));
    if (request.dtype == "i32") run_npp<int32_t>(request, NPP("idei", nppiTranspose_32s_C1R_Ctx));
    if (request.dtype == "u32") run_npp<uint32_t>(request, NPP("idei", nppiTranspose_32s_C1R_Ctx));
#endif
    return 0;  // neither has 64-bit integers
}
