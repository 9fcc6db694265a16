// Floats that a thread keeps of folds that it computes together. Moments are four of them: number,
// sum, mean and sum of squares about the mean. An extreme and the bits of its place, a whole
// number, are two: a NaN is the most extreme, of equals the first place counts.
template <int COUNT>
struct PassState {
  static constexpr int SIZE = COUNT;
  float of[COUNT];
};

// Moments of what two threads have, by the difference of their means.
__device__ __forceinline__ void merge_moments(const float* a, const float* b, float* out) {
  const float number = a[0] + b[0];
  const float share = __fdividef(b[0], fmaxf(number, 1.0f));
  const float apart = b[2] - a[2];
  out[1] = a[1] + b[1];
  out[3] = fmaf(apart * (a[0] * share), apart, a[3] + b[3]);  // finite where a or b is empty
  out[2] = fmaf(apart, share, a[2]);
  out[0] = number;
}

// Adds N elements.
template <int N>
__device__ __forceinline__ void add_moments(float* to, const float (&elements)[N]) {
  float own[4] = {N, 0.0f, 0.0f, 0.0f};
#pragma unroll
  for (int i = 0; i < N; ++i) own[1] += elements[i];
  own[2] = own[1] * (1.0f / N);
#pragma unroll
  for (int i = 0; i < N; ++i) {
    const float apart = elements[i] - own[2];
    own[3] = fmaf(apart, apart, own[3]);
  }
  merge_moments(to, own, to);
}

// The sum of squares about another value than the mean.
__device__ __forceinline__ float squares_about(const float* moments, float center) {
  const float apart = moments[2] - center;
  return fmaf(moments[0] * apart, apart, moments[3]);
}

// Adds an element at a later place than those before it; the most extreme of none has place 0.
template <class How>
__device__ __forceinline__ void add_place(float* to, float element, float place) {
  if (How::beats(element, to[0])) {
    to[0] = element;
    to[1] = place;
  }
}

// The more extreme of two, at the first place of equals.
template <class How>
__device__ __forceinline__ void merge_places(const float* a, const float* b, float* out) {
  const bool before = __float_as_uint(b[1]) < __float_as_uint(a[1]);
  const bool other = How::beats(b[0], a[0]) || (before && !How::beats(a[0], b[0]));
  out[0] = other ? b[0] : a[0];
  out[1] = other ? b[1] : a[1];
}
