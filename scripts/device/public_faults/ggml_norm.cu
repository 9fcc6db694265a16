// ggml src/ggml-cuda/norm.cu, norm_f32: the variance as a difference of means is below zero where
// the mean is large beside the deviation, and its root is NaN.
//   ggml_norm COLUMNS MEAN    by the file's own launcher norm_f32_cuda (32 threads a row below 1024
//   columns, 1024 from there); rows of deviation 1, beside double precision on the host
#include "guard.h"
#include "normed.h"
#include "orig/ggml-full/src/ggml-cuda/norm.cu"

// What the file's other operators call; nothing here reaches it.
extern "C" {
void ggml_abort(const char*, int, const char*, ...) { exit(3); }
bool ggml_is_contiguous(const ggml_tensor*) { return true; }
int64_t ggml_nelements(const ggml_tensor*) { return 0; }
int64_t ggml_nrows(const ggml_tensor*) { return 0; }
size_t ggml_type_size(ggml_type) { return 4; }
}
void ggml_cuda_error(const char*, const char*, const char*, int, const char*) { exit(3); }
int ggml_cuda_get_device() { return 0; }
void ggml_cuda_set_device(int) {}

int main(int argc, char** argv) {
  const int C = argc > 1 ? atoi(argv[1]) : 768, N = 64;
  const double mean = argc > 2 ? atof(argv[2]) : 1e6;
  faults::Normed want = faults::normed(N, C, mean);
  std::vector<float> y(N * C, -1.f);
  float* d_x = faults::device(want.x, "x");
  float* d_y = faults::device(y, "dst");
  faults::open_holes();
  norm_f32_cuda(d_x, d_y, C, N, 1, 1, C, N * C, N * C, 1e-5f, nullptr);
  const int code = faults::done();
  faults::say_normed("norm_f32", d_y, want, mean);
  return code;
}
