// cupilot: {"task": ["tests/hostile/tasks/sum.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["2 * rows"], "block": [32], "cluster": [2], "args": ["x", "y", {"i32": "cols"}]}]}}
// Two blocks of a cluster take a row: both write their part into the first's shared memory, once both have begun.
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
extern "C" __global__ void k(const float* x, float* y, int cols) {
  __shared__ float part[2];
  auto cluster = cg::this_cluster();
  const int row = blockIdx.x / 2, rank = cluster.block_rank();
  float sum = 0.0f;
  for (int c = rank * 32 + threadIdx.x; c < cols; c += 64) sum += x[(long long)row * cols + c];
  for (int h = 16; h > 0; h /= 2) sum += __shfl_xor_sync(~0u, sum, h);
  cluster.sync();
  if (threadIdx.x == 0) *cluster.map_shared_rank(&part[rank], 0) = sum;
  cluster.sync();  // written
  if (rank == 0 && threadIdx.x == 0) y[row] = part[0] + part[1];
}
