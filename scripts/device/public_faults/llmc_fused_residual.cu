// llm.c dev/cuda/fused_residual_forward.cu:122, 167, 218, 297 (kernels 2 to 5, memcheck) and kernel
// 6 (racecheck), by its own launchers.
//   llmc_fused_residual KERNEL
#define main original_main
#include "orig/llmc/fused_residual_forward.cu"
#undef main
#include "cublas_stub.h"
#include "guard.h"

int main(int argc, char** argv) {
  const int kernel = argc > 1 ? atoi(argv[1]) : 2;
  // 257 rows: one more than whole blocks of 128 (kernel 2) or 4 (3 to 5) rows; row 257 does not
  // exist, and `idx > N` lets it through. 6: C = 256 is one warp a token, so a block of 128 has
  // four; N = 2 leaves two of the four without one. 7: kernel 6 with three warps a token: C = 768,
  // block 256, z = 2; N = 1.
  int N = 257, C = 768, block = 128;
  cuda_threads_per_SM = 2048;
  cuda_num_SMs = 132;
  if (kernel == 6) {
    N = 2;
    C = 256;
    block = 128;
  }
  if (kernel == 7) {
    N = 1;
    C = 768;
    block = 256;
  }
  auto in1 = faults::small_numbers<floatX>(size_t(N) * C);
  auto in2 = faults::small_numbers<floatX>(size_t(N) * C);
  auto w = faults::small_numbers<floatX>(C);
  auto b = faults::small_numbers<floatX>(C);
  std::vector<floatX> rows(size_t(N) * C, floatX(0.f)), row(N, floatX(0.f));
  floatX* d_1 = faults::device(in1, "inp1");
  floatX* d_2 = faults::device(in2, "inp2");
  floatX* d_w = faults::device(w, "weight");
  floatX* d_b = faults::device(b, "bias");
  floatX* d_r = faults::device(rows, "residual");
  floatX* d_n = faults::device(rows, "normed");
  floatX* d_m = faults::device(row, "mean");
  floatX* d_s = faults::device(row, "rstd");
  faults::open_holes();
  printf("kernel %d: N %d, C %d, block size %d\n", kernel, N, C, block);
  fflush(stdout);
  fused_residual_forward(kernel == 7 ? 6 : kernel, d_r, d_n, d_m, d_s, d_1, d_2, d_w, d_b, N, C,
                         block);
  return faults::done();
}
