// llm.c dev/cuda/softmax_forward.cu by its own dispatch: llmc_softmax KERNEL ROWS COLUMNS BLOCK
//   4: line 288, one slot serves the maximum and the sum; for racecheck
//   6 (online 2): NaN in rows of less than 16 columns, whose idle lanes are combined
//   7: threads past the columns store before others of their warp have stored, without a barrier;
//      for racecheck
//   8 (online 8): threads past the columns leave though their warp has a row; for synccheck
// Every element of the output begins as -1, so that one which nobody writes differs.
#define main original_main
#include "orig/llmc/softmax_forward.cu"
#undef main
#include <cmath>
#include "cublas_stub.h"
#include "guard.h"

int main(int argc, char** argv) {
  const auto number = [&](int i, int other) { return argc > i ? atoi(argv[i]) : other; };
  const int kernel = number(1, 4), N = number(2, 8), C = number(3, 1024), block = number(4, 128);
  std::vector<float> x(N * C), y(N * C, -1.f), r(N * C);
  for (auto& v : x) v = faults::draw() / 16384.0f;
  float* d_x = faults::device(x, "inp");
  float* d_y = faults::device(y, "out");
  faults::open_holes();
  softmax_forward(kernel, d_y, d_x, N, C, block);
  const int code = faults::done();
  cudaMemcpy(y.data(), d_y, y.size() * sizeof(float), cudaMemcpyDeviceToHost);
  softmax_forward_cpu(r.data(), x.data(), N, C);
  size_t nan = 0, unwritten = 0;
  for (const float v : y) {
    nan += std::isnan(v);
    unwritten += v == -1.f;
  }
  faults::say(("softmax_forward kernel " + std::to_string(kernel)).c_str(),
              faults::compare(y, r, 1e-6), y.size());
  printf("RESULT   %zu are NaN, %zu as they were before\n", nan, unwritten);
  return code;
}
