// The operators that follow a product: those of gemm's words, D = act(alpha * sum + beta * C +
// bias). C is laid out as D; `bias` holds one value a column. Templates with hooks for other graphs
// get a text of the same form in its place (docs/formats/tunable.md, `anchor`). Wants: HAS_ALPHA,
// HAS_C, HAS_BIAS, ACT, STREAM_STORE, T_C, T_bias, T_D; vector.cuh.
#define GRAPH_PARAMETERS const T_C *C, const T_bias *bias, T_D *D, float alpha, float beta
#define GRAPH_ARGUMENTS C, bias, D, alpha, beta

__device__ __forceinline__ float activate(float x) {
  if constexpr (ACT == 1) return fmaxf(x, 0.0f);                                      // relu
  if constexpr (ACT == 2) return 0.5f * x * (1.0f + erff(x * 0.70710678118654752f));  // gelu
  if constexpr (ACT == 3) return x / (1.0f + expf(-x));                               // silu
  if constexpr (ACT == 4) return tanhf(x);
  if constexpr (ACT == 5) return 1.0f / (1.0f + expf(-x));  // sigmoid
  return x;
}

struct Graph {
  const T_C* c;
  const T_bias* bias;
  T_D* d;
  float alpha, beta;

  static constexpr bool READS = HAS_C + HAS_BIAS != 0;  // tensors beside the product
  static constexpr int SPANS = 0;                       // operands are no triangles: Span::kinds
  __device__ __forceinline__ T_D* output() const { return d; }
  __device__ __forceinline__ bool aligned(int) const { return true; }  // vectors of views
  // Elements from row to row of a left operand as stored, whose rows have k.
  __device__ __forceinline__ int left_pitch(int k) const { return k; }

  // The output at element `at`, which lies in row `row` of all matrices.
  __device__ __forceinline__ float finish(long long, long long at, int column, float sum) const {
    float value = sum;
    if constexpr (HAS_ALPHA != 0) value *= alpha;
    if constexpr (HAS_C != 0) value = fmaf(beta, to_float(c[at]), value);
    if constexpr (HAS_BIAS != 0) value += to_float(bias[column]);
    return activate(value);
  }
  // N neighbours of a row; N > 1: at a multiple of N elements.
  template <int N>
  __device__ __forceinline__ void store(long long row, long long at, int column,
                                        const float (&sum)[N]) const {
    Vector<T_D, N> out;
#pragma unroll
    for (int i = 0; i < N; ++i)
      out.at[i] = from_float<T_D>(finish(row, at + i, column + i, sum[i]));
    if constexpr (STREAM_STORE != 0 && N > 1) {
      store_vector_streaming<T_D, N>(d + at, out);
    } else {
      store_vector<T_D, N>(d + at, out);
    }
  }
};
