#pragma once
#include "common.cuh"
__device__ __forceinline__ float ggml_cuda_op_silu_single(float x) { return x / (1.0f + expf(-x)); }
