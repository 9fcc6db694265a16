// cupilot: {"task": ["tests/hostile/tasks/twin_places.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["cdiv(n, 2048)"], "block": [256], "args": ["t", "y", {"i32": "n"}]}]}}
// The counter is a whole number.
extern "C" __global__ void k(const int* t, int* y, int n) {
  for (int c = blockIdx.x * 2048 + threadIdx.x; c < min(n, (int)(blockIdx.x + 1) * 2048); c += 256) y[c] = t[c % 64];
}
