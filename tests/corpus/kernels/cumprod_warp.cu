// Cumulative product of rows, a warp a row, cooperative_groups' inclusive_scan.
// cupilot: {"plan": {"launches": [{"entry": "cumprod", "grid": ["outer"], "block": [32], "args": ["x", "y", {"i32": "mid"}]}]}}
// corpus: {"sizes": {"outer": 4, "mid": 100}, "in": {"x": ["fp32", "outer", "mid", {"kind": "uniform", "low": 0.8, "high": 1.2}]}, "out": {"y": ["fp32", "outer", "mid"]}, "expect": {"y": "cumprod"}}
#include <cooperative_groups.h>
#include <cooperative_groups/scan.h>
namespace cg = cooperative_groups;

extern "C" __global__ void cumprod(const float* x, float* y, int cols) {
  const auto warp = cg::tiled_partition<32>(cg::this_thread_block());
  float carry = 1.f;
  for (int base = 0; base < cols; base += 32) {
    const int c = base + warp.thread_rank();
    float v = c < cols ? x[blockIdx.x * cols + c] : 1.f;
    v = carry * cg::inclusive_scan(warp, v, [](float a, float b) { return a * b; });
    if (c < cols) y[blockIdx.x * cols + c] = v;
    carry = warp.shfl(v, 31);
  }
}
