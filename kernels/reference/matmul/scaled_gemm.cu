// D = act(alpha * (A scale_a) (B scale_b) + beta * C + bias), one element; SCALE 1: a factor a
// matrix, 2: a factor a block, which the sum of the block's products is multiplied by. A template,
// so that tensors a task lacks are never named.

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
  constexpr long long block = 128;
  const long long column = index % in.n;
  const long long row = index / in.n % in.m;
  const long long batch = index / (in.n * in.m);
  const long long a = batch * in.m * in.k + (TRANS_A ? row : row * in.k);
  const long long b = batch * in.k * in.n + (TRANS_B ? column * in.k : column);
  const long long a_step = TRANS_A ? in.m : 1;
  const long long b_step = TRANS_B ? 1 : in.n;
  const long long blocks_k = (in.k + block - 1) / block, blocks_n = (in.n + block - 1) / block;
  real sum = real(0.0);
  for (long long s = 0; s < blocks_k; ++s) {
    real part = real(0.0);
    for (long long p = s * block; p < in.k && p < (s + 1) * block; ++p)
      part = part + in.A(a + p * a_step) * in.B(b + p * b_step);
    if (SCALE == 2) {
      part = part * (in.scale_a((batch * blocks_k + s) * in.m + row) *
                     in.scale_b((batch * blocks_n + column / block) * blocks_k + s));
    }
    sum = sum + part;
  }
  if (SCALE == 1) sum = sum * (in.scale_a(0) * in.scale_b(0));
  if (HAS_ALPHA) sum = in.alpha * sum;
  if constexpr (HAS_C != 0) sum = sum + in.beta * in.C(index);
  if constexpr (HAS_BIAS != 0) sum = sum + in.bias(column);
  return activate(sum);
}
