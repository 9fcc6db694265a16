// cupilot: {"task": ["tests/hostile/tasks/integer_sum.json"]}
// cupilot: {"plan": {"launches": [{"entry": "sum_rows", "grid": ["cdiv(rows, 4)"], "block": [64], "args": ["x", "y", {"i32": "rows"}, {"i32": "cols"}]}]}}
// Sixteen lanes a row: tiles of four are reduced by the header, then the tile of sixteen synchronises itself. The halves of a warp
// leave their loops at different times.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>

namespace cg = cooperative_groups;

extern "C" __global__ void sum_rows(const int* x, int* y, int rows, int cols) {
  __shared__ int part[4][4];
  const auto row_tile = cg::tiled_partition<16>(cg::this_thread_block());
  const auto quarter = cg::tiled_partition<4>(row_tile);
  const int row = blockIdx.x * 4 + row_tile.meta_group_rank();
  if (row >= rows) return;
  int sum = 0;
  for (int c = row_tile.thread_rank(); c < cols; c += 16) sum += x[(long long)row * cols + c];
  sum = cg::reduce(quarter, sum, cg::plus<int>());
  int* mine = part[row_tile.meta_group_rank()];
  if (quarter.thread_rank() == 0) mine[quarter.meta_group_rank()] = sum;
  row_tile.sync();
  if (row_tile.thread_rank() == 0) y[row] = mine[0] + mine[1] + mine[2] + mine[3];
}
