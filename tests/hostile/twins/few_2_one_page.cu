// cupilot: {"task": ["tests/hostile/tasks/twin_one_page.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["4"], "block": [256], "args": ["table", "which", "y"]}]}}
// One page of two hundred thousand.
extern "C" __global__ void k(const short* table, const int* which, short* y) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  y[i] = table[(size_t)*which * 1024 + i];
}
