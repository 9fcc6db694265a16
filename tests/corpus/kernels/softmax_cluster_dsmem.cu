// Softmax of long rows: a cluster of four blocks keeps a row in its shared memories and exchanges maxima and sums.
// cupilot: {"plan": {"launches": [{"entry": "softmax", "grid": ["4 * outer"], "block": [64], "cluster": [4], "shared": "mid", "args": ["x", "y", {"i32": "mid"}]}]}}
// corpus: {"sizes": {"outer": 2, "mid": 1024}, "in": {"x": ["fp32", "outer", "mid", {"kind": "normal", "high": 3}]}, "out": {"y": ["fp32", "outer", "mid"]}, "expect": {"y": "softmax"}}
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <math.h>
namespace cg = cooperative_groups;

extern __shared__ float mine[];  // a quarter of the row

template <class Op>
__device__ float over_cluster(float v, float* slot, Op op) {
  const auto cluster = cg::this_cluster();
  const auto block = cg::this_thread_block();
  const auto warp = cg::tiled_partition<32>(block);
  v = cg::reduce(warp, v, op);
  if (warp.thread_rank() == 0) slot[1 + warp.meta_group_rank()] = v;
  block.sync();
  if (block.thread_rank() == 0) slot[0] = op(slot[1], slot[2]);
  cluster.sync();
  float all = *cluster.map_shared_rank(slot, 0);
  for (unsigned r = 1; r < cluster.num_blocks(); ++r) all = op(all, *cluster.map_shared_rank(slot, r));
  return all;
}

extern "C" __global__ void softmax(const float* x, float* y, int cols) {
  __shared__ float largest[3], total[3];
  const auto cluster = cg::this_cluster();
  const int part = cols / 4;
  const size_t begin = (size_t)(blockIdx.x / 4) * cols + cluster.block_rank() * part;
  float most = -INFINITY;
  for (int i = threadIdx.x; i < part; i += blockDim.x) most = fmaxf(most, mine[i] = x[begin + i]);
  most = over_cluster(most, largest, cg::greater<float>());
  float sum = 0.f;
  for (int i = threadIdx.x; i < part; i += blockDim.x) sum += mine[i] = __expf(mine[i] - most);
  sum = over_cluster(sum, total, cg::plus<float>());
  for (int i = threadIdx.x; i < part; i += blockDim.x) y[begin + i] = mine[i] / sum;
  cluster.sync();
}
