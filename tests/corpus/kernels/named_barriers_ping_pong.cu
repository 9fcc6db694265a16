// Two warps take turns over one shared slot by named barriers: bar.arrive hands the slot over, bar.sync takes it.
// cupilot: {"plan": {"launches": [{"entry": "scale", "grid": [4], "block": [64], "args": ["x", "y", {"i32": "n"}]}]}}
// corpus: {"sizes": {"n": 4096}, "in": {"x": ["fp32", "n"]}, "out": {"y": ["fp32", "n"]}, "expect": {"y": "doubled"}}
template <int ID>
__device__ void hand_over() { asm volatile("bar.arrive %0, 64;" ::"n"(ID) : "memory"); }
template <int ID>
__device__ void take() { asm volatile("bar.sync %0, 64;" ::"n"(ID) : "memory"); }

extern "C" __global__ void scale(const float* x, float* y, int n) {
  __shared__ float slot[2][32];
  const int lane = threadIdx.x % 32, share = n / gridDim.x;
  x += blockIdx.x * share + lane, y += blockIdx.x * share + lane;
  if (threadIdx.x < 32) {
    for (int i = 0; i < share; i += 64) {
      if (i > 0) take<3>();
      slot[0][lane] = x[i];
      hand_over<1>();
      if (i > 0) take<4>();
      slot[1][lane] = x[i + 32];
      hand_over<2>();
    }
  } else {
    for (int i = 0; i < share; i += 64) {
      take<1>();
      y[i] = 2.f * slot[0][lane];
      if (i + 64 < share) hand_over<3>();
      take<2>();
      y[i + 32] = 2.f * slot[1][lane];
      if (i + 64 < share) hand_over<4>();
    }
  }
}
