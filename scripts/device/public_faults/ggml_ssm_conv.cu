// ggml src/ggml-cuda/ssm-conv.cu:93, by its own launcher ggml_cuda_op_ssm_conv. For memcheck.
//   ggml_ssm_conv [STEPS]     33 steps: the last block of 32 has one, and reads 124 bytes past the
//   end of x; 64: no fault
#include "guard.h"
#include "orig/ggml/ssm-conv.cu"

int main(int argc, char** argv) {
  const int64_t steps = argc > 1 ? atoi(argv[1]) : 33, inner = 128, taps = 4, sequences = 1;
  const int64_t width = steps + taps - 1;
  auto x = faults::small_numbers<float>(sequences * inner * width);
  auto w = faults::small_numbers<float>(inner * taps);
  std::vector<float> y(sequences * steps * inner, 0.f), r(y);
  float* d_x = faults::device(x, "x");
  float* d_w = faults::device(w, "w");
  float* d_y = faults::device(y, "y");
  faults::open_holes();
  auto tensor = [](void* data, int64_t a, int64_t b, int64_t c) {
    return ggml_tensor{GGML_TYPE_F32,
                       {a, b, c, 1},
                       {4, size_t(a) * 4, size_t(a * b) * 4, size_t(a * b * c) * 4},
                       {},
                       data};
  };
  ggml_tensor tx = tensor(d_x, width, inner, sequences), tw = tensor(d_w, taps, inner, 1),
              ty = tensor(d_y, inner, steps, sequences);
  ty.src[0] = &tx;
  ty.src[1] = &tw;
  ggml_backend_cuda_context context;
  printf("steps %d\n", int(steps));
  ggml_cuda_op_ssm_conv(context, &ty, nullptr, nullptr);
  const int code = faults::done();
  cudaMemcpy(y.data(), d_y, y.size() * sizeof(float), cudaMemcpyDeviceToHost);
  for (int64_t t = 0; t < steps; ++t)
    for (int64_t q = 0; q < inner; ++q)
      for (int j = 0; j < taps; ++j) r[t * inner + q] += x[q * width + t + j] * w[q * taps + j];
  faults::say("ssm_conv", faults::compare(y, r, 1e-5), y.size());
  return code;
}
