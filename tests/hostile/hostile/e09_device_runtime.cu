// cupilot: {"task": ["tests/hostile/tasks/copy.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["cdiv(n, 256)"], "block": [256], "args": ["x", "y", {"i32": "n"}]}]}}
// Asks the device runtime for memory.
extern "C" __device__ int cudaMalloc(void**, unsigned long);
extern "C" __device__ int cudaMemcpyAsync(void*, const void*, unsigned long, int, void*);
extern "C" __global__ void k(const float* x, float* y, int n) { if (threadIdx.x == 0 && blockIdx.x == 0) cudaMemcpyAsync(y, x, 4ul * n, 3, 0); }
