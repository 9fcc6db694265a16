// Uses the dispatcher that `run` generates: launches shapes it was and was not evolved for, and
// checks some elements on the host.
#include <cuda.h>

#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <vector>

#include "gemm_bf16.hpp"

static void check(CUresult code, const char* what) {
  if (code == CUDA_SUCCESS) return;
  std::fprintf(stderr, "%s: error %d\n", what, static_cast<int>(code));
  std::exit(1);
}

static float value_of(std::uint16_t bf16) {
  const std::uint32_t bits = std::uint32_t{bf16} << 16;
  float value;
  std::memcpy(&value, &bits, 4);
  return value;
}

// Random bf16 in [-1, 1), on the device too.
static std::vector<std::uint16_t> random_matrix(std::int64_t elements, void** device) {
  static std::mt19937 random(1);
  std::vector<std::uint16_t> host(static_cast<std::size_t>(elements));
  for (auto& one : host) {
    const float value = static_cast<float>(random() >> 24) / 128.0f - 1.0f;  // exact in bf16
    std::uint32_t bits;
    std::memcpy(&bits, &value, 4);
    one = static_cast<std::uint16_t>(bits >> 16);
  }
  CUdeviceptr memory;
  check(cuMemAlloc(&memory, host.size() * 2), "cuMemAlloc");
  check(cuMemcpyHtoD(memory, host.data(), host.size() * 2), "cuMemcpyHtoD");
  *device = reinterpret_cast<void*>(memory);
  return host;
}

// D = A B with B stored transposed (layout nt).
static bool right(gemm_bf16& kernels, std::int64_t m, std::int64_t n, std::int64_t k,
                  CUstream stream) {
  void *a_device, *b_device, *d_device;
  const auto a = random_matrix(m * k, &a_device), b = random_matrix(n * k, &b_device);
  auto d = random_matrix(m * n, &d_device);
  const auto status = kernels.launch(1, m, n, k, a_device, b_device, d_device, stream);
  if (!status.ok()) return std::fprintf(stderr, "%s\n", status.message.c_str()), false;
  check(cuStreamSynchronize(stream), "cuStreamSynchronize");
  check(cuMemcpyDtoH(d.data(), reinterpret_cast<CUdeviceptr>(d_device), d.size() * 2),
        "cuMemcpyDtoH");
  double worst = 0;
  for (std::int64_t i = 0; i < m * n; i += 1 + m * n / 4096) {
    double sum = 0;
    for (std::int64_t x = 0; x < k; ++x) {
      sum += double{value_of(a[static_cast<std::size_t>(i / n * k + x)])} *
             value_of(b[static_cast<std::size_t>(i % n * k + x)]);
    }
    worst = std::max(
        worst, std::abs(sum - value_of(d[static_cast<std::size_t>(i)])) / (std::abs(sum) + 1));
  }
  for (void* memory : {a_device, b_device, d_device})
    cuMemFree(reinterpret_cast<CUdeviceptr>(memory));
  std::printf("m=%-5ld n=%-5ld k=%-5ld %-14s worst error %.4f\n", m, n, k,
              kernels.used({1, m, n, k})->name, worst);
  return worst < 0.01;  // bf16 keeps eight bits
}

int main() {
  check(cuInit(0), "cuInit");
  CUdevice device;
  CUcontext context;
  CUstream stream;
  check(cuDeviceGet(&device, 0), "cuDeviceGet");
  check(cuDevicePrimaryCtxRetain(&context, device), "cuDevicePrimaryCtxRetain");
  check(cuCtxSetCurrent(context), "cuCtxSetCurrent");
  check(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
  gemm_bf16 kernels;
  bool all = true;
  for (const auto& [m, n, k] : {std::array<std::int64_t, 3>{1, 256, 256},
                                {16, 256, 256},
                                {128, 256, 512},
                                {100, 500, 300},
                                {7, 5, 3}}) {
    all = right(kernels, m, n, k, stream) && all;
  }
  return all ? 0 : 1;
}
