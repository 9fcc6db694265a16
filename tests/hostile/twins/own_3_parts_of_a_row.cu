// cupilot: {"task": ["tests/hostile/tasks/twin_split_three.json"]}
// cupilot: {"plan": {"launches": [{"entry": "split", "grid": ["rows"], "block": [96], "args": ["x", "q", "k", "v"]}]}}
// A row is handed out to three outputs.
extern "C" __global__ void split(const short* x, short* q, short* k, short* v) {
  const int part = threadIdx.x / 32, lane = threadIdx.x % 32;
  short* to = part == 0 ? q : part == 1 ? k : v;
  to[blockIdx.x * 32 + lane] = x[blockIdx.x * 96 + threadIdx.x];
}
