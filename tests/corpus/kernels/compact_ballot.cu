// Order of survivors within a row: ballots and population counts give each positive element its place, the others -1.
// cupilot: {"plan": {"launches": [{"entry": "places", "grid": ["outer"], "block": [32], "args": ["x", "y", {"i32": "mid"}]}]}}
// corpus: {"sizes": {"outer": 5, "mid": 140}, "in": {"x": ["fp32", "outer", "mid"]}, "out": {"y": ["i32", "outer", "mid"]}, "expect": {"y": "places_of_positives"}, "tolerance": 0}
extern "C" __global__ void places(const float* x, int* y, int cols) {
  unsigned below;
  asm("mov.u32 %0, %%lanemask_lt;" : "=r"(below));
  int before = 0;
  for (int base = 0; base < cols; base += 32) {
    const int c = base + threadIdx.x;
    const bool survives = c < cols && x[blockIdx.x * cols + c] > 0.f;
    const unsigned all = __ballot_sync(~0u, survives);
    if (c < cols) y[blockIdx.x * cols + c] = survives ? before + __popc(all & below) : -1;
    before += __popc(all);
  }
}
