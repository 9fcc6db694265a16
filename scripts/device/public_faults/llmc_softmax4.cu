// llm.c dev/cuda/softmax_forward.cu:288 (kernel 4), by its own launcher softmax_forward4. For
// racecheck.
#define main original_main
#include "orig/llmc/softmax_forward.cu"
#undef main
#include <cmath>
#include "cublas_stub.h"
#include "guard.h"

int main() {
  const int N = 8, C = 1024, block = 128;
  std::vector<float> x(N * C), y(N * C, 0.f), r(N * C);
  for (auto& v : x) v = faults::draw() / 16384.0f;
  float* d_x = faults::device(x, "inp");
  float* d_y = faults::device(y, "out");
  faults::open_holes();
  softmax_forward4(d_y, d_x, N, C, block);
  const int code = faults::done();
  cudaMemcpy(y.data(), d_y, y.size() * sizeof(float), cudaMemcpyDeviceToHost);
  softmax_forward_cpu(r.data(), x.data(), N, C);
  faults::say("softmax_forward_kernel4", faults::compare(y, r, 1e-6), y.size());
  return code;
}
