// llm.c dev/cuda/layernorm_forward.cu by its own dispatch: llmc_layernorm KERNEL MEAN [COLUMNS]
//   4, 5: the variance as a difference of means, lines 261 and 321: below zero where the mean is
//   large beside the deviation, whose root is NaN; 3 is the control, of two passes
// Rows of deviation 1 around MEAN, beside the same layer in double precision on the host.
#define main original_main
#include "orig/llmc/layernorm_forward.cu"
#undef main
#include <string>
#include "cublas_stub.h"
#include "guard.h"
#include "normed.h"

int main(int argc, char** argv) {
  const int kernel = argc > 1 ? atoi(argv[1]) : 4, C = argc > 3 ? atoi(argv[3]) : 768, N = 64;
  const double mean = argc > 2 ? atof(argv[2]) : 1e6;
  faults::Normed want = faults::normed(N, C, mean);
  std::vector<float> w(C, 1.f), b(C, 0.f), y(N * C, -1.f), mu(N, -1.f), rstd(N, -1.f);
  float* d_x = faults::device(want.x, "inp");
  float* d_w = faults::device(w, "weight");
  float* d_b = faults::device(b, "bias");
  float* d_y = faults::device(y, "out");
  float* d_mu = faults::device(mu, "mean");
  float* d_rstd = faults::device(rstd, "rstd");
  faults::open_holes();
  layernorm_forward(kernel, d_y, d_mu, d_rstd, d_x, d_w, d_b, 1, N, C, 128);
  const int code = faults::done();
  const std::string name = "layernorm_forward kernel " + std::to_string(kernel);
  faults::say_normed(name.c_str(), d_y, want, mean);
  return code;
}
