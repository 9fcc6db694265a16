// cupilot: {"task": ["tests/hostile/tasks/axpy.json"]}
// cupilot: {"plan": {"launches": [{"entry": "axpy", "grid": ["cdiv(n, 256)"], "block": [256], "args": [{"bytes": 32, "fields": [{"at": 0, "value": "x"}, {"at": 8, "value": "y"}, {"at": 16, "value": "alpha"}, {"at": 20, "value": {"i32": "n"}}, {"at": 24, "value": {"i16": 256}}, {"at": 26, "value": {"i8": 1}}]}, {"bytes": 12, "fields": [{"at": 0, "value": {"i32": 3}}]}, "z"]}]}}
struct Given {
  const float* x;
  const float* y;
  float alpha;
  int n;
  unsigned short width;
  bool on;
};

extern "C" __global__ void axpy(Given given, uint3 unused, float* z) {
  const int i = blockIdx.x * given.width + threadIdx.x;
  if (given.on && i < given.n) z[i] = given.alpha * given.x[i] + given.y[i];
}
