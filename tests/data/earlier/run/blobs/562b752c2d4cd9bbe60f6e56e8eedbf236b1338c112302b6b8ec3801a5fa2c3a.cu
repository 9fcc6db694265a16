// cupilot: {"task":["scale/task.json"]}
// cupilot: {"template":"scale_rows"}
// cupilot: {"strategy":"d9bd2269c741b8cf1f7997264196c27b5c512a3fa6ce5b43f32725bab8661152"}
// cupilot: {"constants":{"COLS":1,"ROWS":2,"THREADS":32}}
// cupilot: {"plan":{"launches":[{"entry":"weigh_columns","grid":["cdiv(cols, THREADS * COLS)","cdiv(rows, ROWS)"],"block":["THREADS"],"args":["x","w","y",{"i64":"rows"},{"i64":"cols"}]}]}}
// scale, class fp32-strict, made for cols=64 rows=32
// from template scale_rows: a block takes some rows of a strip of columns; a thread loads its weights once
// Strategy:
//   scale_rows 1x2x32
// Why:
//   few rows a thread

// cupilot/types.cuh
// Storage types as plain bit patterns, and their conversion from and to float. The target's own instructions do the
// rounding (to nearest even), so no toolkit header is needed.
struct bf16 {
  unsigned short bits;
};
struct fp16 {
  unsigned short bits;
};
struct e4m3 {
  unsigned char bits;
};
struct e5m2 {
  unsigned char bits;
};

template <class T>
__device__ __forceinline__ float to_float(T value) {
  return static_cast<float>(value);
}
// A bfloat16 is the upper half of a float.
__device__ __forceinline__ float to_float(bf16 value) { return __uint_as_float(static_cast<unsigned>(value.bits) << 16); }
__device__ __forceinline__ float to_float(fp16 value) {
  float result;
  asm("cvt.f32.f16 %0, %1;" : "=f"(result) : "h"(value.bits));
  return result;
}
// 8-bit floats convert in pairs through fp16; the upper one is zero.
__device__ __forceinline__ float to_float(e4m3 value) {
  const unsigned short pair = value.bits;
  unsigned halves;
  asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(halves) : "h"(pair));
  return to_float(fp16{static_cast<unsigned short>(halves)});
}
__device__ __forceinline__ float to_float(e5m2 value) {
  const unsigned short pair = value.bits;
  unsigned halves;
  asm("cvt.rn.f16x2.e5m2x2 %0, %1;" : "=r"(halves) : "h"(pair));
  return to_float(fp16{static_cast<unsigned short>(halves)});
}

// from_float<T>: the nearest value of the storage type.
template <class T>
struct FromFloat {
  static __device__ __forceinline__ T of(float value) { return static_cast<T>(value); }
};
template <>
struct FromFloat<bf16> {
  static __device__ __forceinline__ bf16 of(float value) {
    bf16 result;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(result.bits) : "f"(value));
    return result;
  }
};
template <>
struct FromFloat<fp16> {
  static __device__ __forceinline__ fp16 of(float value) {
    fp16 result;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(result.bits) : "f"(value));
    return result;
  }
};
template <>
struct FromFloat<e4m3> {
  static __device__ __forceinline__ e4m3 of(float value) {
    unsigned short pair;
    asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(pair) : "f"(0.0f), "f"(value));
    return e4m3{static_cast<unsigned char>(pair)};
  }
};
template <>
struct FromFloat<e5m2> {
  static __device__ __forceinline__ e5m2 of(float value) {
    unsigned short pair;
    asm("cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;" : "=h"(pair) : "f"(0.0f), "f"(value));
    return e5m2{static_cast<unsigned char>(pair)};
  }
};
template <class T>
__device__ __forceinline__ T from_float(float value) {
  return FromFloat<T>::of(value);
}

// What the strategy chose.
constexpr int THREADS = 32;  // scale_rows.THREADS
constexpr int ROWS = 2;  // scale_rows.ROWS
constexpr int COLS = 1;  // scale_rows.COLS

// Storage types of the tensors.
using T_x = float;
using T_w = float;
using T_y = float;

// y[r][c] = x[r][c] w[c]. The parameters above are constants here; T_x is the type of tensor x.
extern "C" __global__ void __launch_bounds__(THREADS)
    weigh_columns(const T_x* x, const T_w* w, T_y* y, long long rows, long long cols) {
  const long long first = static_cast<long long>(blockIdx.y) * ROWS;
#pragma unroll
  for (int i = 0; i < COLS; ++i) {
    const long long c = (static_cast<long long>(blockIdx.x) * COLS + i) * THREADS + threadIdx.x;
    if (c >= cols) return;
    const float weight = to_float(w[c]);
#pragma unroll
    for (int j = 0; j < ROWS; ++j) {
      const long long r = first + j;
      if (r < rows) y[r * cols + c] = from_float<T_y>(to_float(x[r * cols + c]) * weight);
    }
  }
}
