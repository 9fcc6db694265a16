// cupilot: {"task": ["tests/hostile/tasks/twin_pages.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["tokens", "heads"], "block": [32], "args": ["cache", "page", "y", {"i32": "heads"}]}]}}
// Keys of a paged cache, two bf16 a lane.
extern "C" __global__ void k(const unsigned* cache, const int* page, unsigned* y, int heads) {
  const int t = blockIdx.x, h = blockIdx.y;
  const long long row = ((long long)page[t] * 16 + t % 16) * heads + h;
  y[((size_t)t * heads + h) * 32 + threadIdx.x] = cache[row * 32 + threadIdx.x];
}
