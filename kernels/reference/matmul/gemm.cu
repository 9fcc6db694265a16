// D = act(alpha * op(A) op(B) + beta * C + bias), one element. A template, so that tensors a task
// lacks are never named.

__device__ real activate(real x) {
  if (ACT == 1) return max_(x, real(0.0));
  if (ACT == 2) return real(0.5) * x * (real(1.0) + erf_(x * real(0.70710678118654752440)));
  if (ACT == 3) return x / (real(1.0) + exp_(-x));
  if (ACT == 4) return tanh_(x);
  if (ACT == 5) return real(1.0) / (real(1.0) + exp_(-x));
  return x;
}

template <class In>
__device__ real reference_D(const In& in, long long index) {
  const long long column = index % in.n;
  const long long row = index / in.n % in.m;
  const long long batch = index / (in.n * in.m);
  const long long a = batch * in.m * in.k + (TRANS_A ? row : row * in.k);
  const long long b = batch * in.k * in.n + (TRANS_B ? column * in.k : column);
  const long long a_step = TRANS_A ? in.m : 1;
  const long long b_step = TRANS_B ? 1 : in.n;
  real sum = real(0.0);
  for (long long p = 0; p < in.k; ++p) sum = sum + in.A(a + p * a_step) * in.B(b + p * b_step);
  if (HAS_ALPHA) sum = in.alpha * sum;
  if constexpr (HAS_C != 0) sum = sum + in.beta * in.C(index);
  if constexpr (HAS_BIAS != 0) sum = sum + in.bias(column);
  return activate(sum);
}
