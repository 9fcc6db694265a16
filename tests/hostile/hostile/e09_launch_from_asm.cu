// cupilot: {"task": ["tests/hostile/tasks/copy.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["cdiv(n, 256)"], "block": [256], "args": ["x", "y", {"i32": "n"}]}]}}
// Launches by the function that the language would call for it.
extern "C" __device__ void* cudaGetParameterBufferV2(void*, uint3, uint3, unsigned);
extern "C" __device__ int cudaLaunchDeviceV2(void*, void*);
extern "C" __global__ void k(const float* x, float* y, int n) { if (threadIdx.x == 0) cudaLaunchDeviceV2(cudaGetParameterBufferV2((void*)x, make_uint3(1, 1, 1), make_uint3(1, 1, 1), 0), y); }
