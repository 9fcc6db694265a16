// One counter of each integer atomic, relaxed, acquiring and releasing; the last launch weighs them into one number a bin.
// cupilot: {"plan": {"buffers": [{"name": "cells", "bytes": "bins * 8 * 8", "content": "zeroed"}], "launches": [{"entry": "strike", "grid": [3], "block": [64], "args": ["x", "cells", {"i32": "n"}]}, {"entry": "read", "grid": [1], "block": ["bins"], "args": ["cells", "y"]}]}}
// corpus: {"sizes": {"n": 700, "bins": 8}, "in": {"x": ["i32", "n", {"kind": "integers", "below": 8}]}, "out": {"y": ["i32", "bins"]}, "expect": {"y": "histogram"}, "tolerance": 0}
using u64 = unsigned long long;

extern "C" __global__ void strike(const int* x, u64* cells, int n) {
  for (int i = blockIdx.x * 64 + threadIdx.x; i < n; i += gridDim.x * 64) {
    u64* c = cells + x[i] * 8;
    unsigned* half = reinterpret_cast<unsigned*>(c);
    atomicAdd(c + 0, 1ull);
    atomicAdd(half + 2, 1u);
    atomicInc(half + 3, 0xffffffffu);
    atomicSub(half + 4, 1u);
    atomicOr(half + 5, 1u << i % 7);
    atomicXor(half + 6, 0u);
    atomicMax(c + 4, (u64)i);
    atomicMax(reinterpret_cast<int*>(half) + 10, -i);
    unsigned seen = *reinterpret_cast<volatile unsigned*>(half + 11), assumed;  // a plain look would race with the others' swaps
    do {
      assumed = seen;
      seen = atomicCAS(half + 11, assumed, assumed + 2);
    } while (seen != assumed);
    asm volatile("red.relaxed.gpu.global.add.u64 [%0], 3;" ::"l"(c + 6) : "memory");
    u64 old;
    asm volatile("atom.acq_rel.gpu.global.add.u64 %0, [%1], 5;" : "=l"(old) : "l"(c + 7) : "memory");
  }
}

extern "C" __global__ void read(const u64* cells, int* y) {
  const u64* c = cells + threadIdx.x * 8;
  const unsigned* half = reinterpret_cast<const unsigned*>(c);
  const unsigned count = (unsigned)c[0];
  const bool agree = half[2] == count && half[3] == count && half[4] == 0u - count && half[5] < 128u && half[6] == 0 && half[10] == 0 &&
                     half[11] == 2 * count && c[6] == 3ull * count && c[7] == 5ull * count && c[4] < 700;
  y[threadIdx.x] = agree ? (int)count : -1;
}
