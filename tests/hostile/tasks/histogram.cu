// How often each label stands among n.
__device__ real reference_count(const Inputs& in, long long index) {
  long long count = 0;
  for (long long i = 0; i < in.n; ++i) count += in.label(i) == index ? 1 : 0;
  return real(static_cast<double>(count));
}
