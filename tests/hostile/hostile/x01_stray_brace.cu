// cupilot: {"task": ["tests/hostile/tasks/copy.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["cdiv(n, 256)"], "block": [256], "args": ["x", "y", {"i32": "n"}]}]}}
// Three lines of garbled text that end NVRTC 13.0 with a segmentation fault.
__global__ void k() {
}}
}
int y = atomicAdd((int*)0, static_cast<T<int>>(1));
