// cupilot: {"task": ["tests/hostile/tasks/copy.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["cdiv(n, 256)"], "block": [256], "args": ["x", "y", {"i32": "n"}]}]}}
// Calls a library that somebody might link.
extern "C" __device__ int cublasScopy_device(int, const float*, int, float*, int);
extern "C" __global__ void k(const float* x, float* y, int n) { if (threadIdx.x == 0 && blockIdx.x == 0) cublasScopy_device(n, x, 1, y, 1); }
