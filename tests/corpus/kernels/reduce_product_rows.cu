// Product of each row: a warp a row, cooperative_groups' reduce with a functor of its own.
// cupilot: {"plan": {"launches": [{"entry": "products", "grid": ["cdiv(outer, 4)"], "block": [128], "args": ["x", "y", {"i32": "outer"}, {"i32": "mid"}]}]}}
// corpus: {"sizes": {"outer": 10, "mid": 70}, "in": {"x": ["fp32", "outer", "mid", {"kind": "uniform", "low": 0.8, "high": 1.25}]}, "out": {"y": ["fp32", "outer"]}, "expect": {"y": "product"}}
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;

extern "C" __global__ void products(const float* x, float* y, int rows, int cols) {
  const auto warp = cg::tiled_partition<32>(cg::this_thread_block());
  const int row = blockIdx.x * warp.meta_group_size() + warp.meta_group_rank();
  if (row >= rows) return;
  float product = 1.f;
  for (int c = warp.thread_rank(); c < cols; c += warp.size()) product *= x[row * cols + c];
  product = cg::reduce(warp, product, [](float a, float b) { return a * b; });
  if (warp.thread_rank() == 0) y[row] = product;
}
