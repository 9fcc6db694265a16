// llm.c dev/cuda/layernorm_forward.cu by its own dispatch: llmc_layernorm KERNEL MEAN [COLUMNS]
//   4, 5: the variance as a difference of means, lines 261 and 321: below zero where the mean is
//   large beside the deviation, whose root is NaN; 3 is the control, of two passes
// Rows of deviation 1 around MEAN, beside the same layer in double precision on the host.
#define main original_main
#include "orig/llmc/layernorm_forward.cu"
#undef main
#include <cmath>
#include "cublas_stub.h"
#include "guard.h"

int main(int argc, char** argv) {
  const int kernel = argc > 1 ? atoi(argv[1]) : 4, C = argc > 3 ? atoi(argv[3]) : 768, N = 64;
  const double mean = argc > 2 ? atof(argv[2]) : 1e6;
  std::vector<float> x(N * C), w(C, 1.f), b(C, 0.f), y(N * C, -1.f), mu(N, -1.f), rstd(N, -1.f);
  std::vector<double> r(N * C);
  for (auto& v : x) {  // the sum of 12 has deviation 1
    double s = 0;
    for (int i = 0; i < 12; ++i) s += faults::draw() / 65536.0;
    v = float(mean + s - 6);
  }
  for (int row = 0; row < N; ++row) {
    double m = 0, s = 0;
    for (int c = 0; c < C; ++c) m += x[row * C + c] / double(C);
    for (int c = 0; c < C; ++c) s += (x[row * C + c] - m) * (x[row * C + c] - m) / C;
    for (int c = 0; c < C; ++c) r[row * C + c] = (x[row * C + c] - m) / std::sqrt(s + 1e-5);
  }
  float* d_x = faults::device(x, "inp");
  float* d_w = faults::device(w, "weight");
  float* d_b = faults::device(b, "bias");
  float* d_y = faults::device(y, "out");
  float* d_mu = faults::device(mu, "mean");
  float* d_rstd = faults::device(rstd, "rstd");
  faults::open_holes();
  layernorm_forward(kernel, d_y, d_mu, d_rstd, d_x, d_w, d_b, 1, N, C, 128);
  const int code = faults::done();
  cudaMemcpy(y.data(), d_y, y.size() * sizeof(float), cudaMemcpyDeviceToHost);
  size_t nan = 0;
  for (const float v : y) nan += std::isnan(v);
  // 0.5: half a deviation, far above what a mean rounded to fp32 costs (0.0625 at 1e6)
  faults::say(("layernorm_forward kernel " + std::to_string(kernel)).c_str(),
              faults::compare(y, r, 0.5), y.size());
  printf("RESULT   %zu are NaN, at a mean of %g\n", nan, mean);
  return code;
}
