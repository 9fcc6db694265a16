// A histogram whose bins are spread over the shared memories of a cluster: remote atomics by cooperative_groups.
// cupilot: {"plan": {"launches": [{"entry": "clear", "grid": [1], "block": [128], "args": ["y"]}, {"entry": "histogram", "grid": [4], "block": [64], "cluster": [2], "args": ["x", "y", {"i32": "n"}]}]}}
// corpus: {"sizes": {"n": 2000, "bins": 128}, "in": {"x": ["i32", "n", {"kind": "integers", "below": 128}]}, "out": {"y": ["i32", "bins"]}, "expect": {"y": "histogram"}, "tolerance": 0}
#include <cooperative_groups.h>
namespace cg = cooperative_groups;

extern "C" __global__ void clear(int* y) { y[threadIdx.x] = 0; }

extern "C" __global__ void histogram(const int* x, int* y, int n) {
  __shared__ int bins[64];
  const auto cluster = cg::this_cluster();
  bins[threadIdx.x] = 0;
  cluster.sync();
  for (int i = blockIdx.x * 64 + threadIdx.x; i < n; i += gridDim.x * 64) {
    const int b = x[i];
    atomicAdd(cluster.map_shared_rank(bins, b / 64) + b % 64, 1);
  }
  cluster.sync();
  atomicAdd(y + cluster.block_rank() * 64 + threadIdx.x, bins[threadIdx.x]);
}
