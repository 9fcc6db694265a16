// Factors as planes for tensor cores of tf32: one plane of what they keep, or two, of which the
// second has the rest.
constexpr int PLANES = Graph::PLANES;

// Returns a value's next plane and leaves the rest. The tensor core cuts off bits; three eighths of
// the last one that it keeps are added before, up to three quarters by the value's size, so that it
// errs by no more than these to either side.
__device__ __forceinline__ unsigned plane_of(float& value) {
  const unsigned out = __float_as_uint(value * (1.0f + 0x3p-13f));
  if constexpr (PLANES > 1) value -= __uint_as_float(out & 0xffffe000u);
  return out;
}
__device__ __forceinline__ uint4 plane_of(float (&values)[4]) {
  const unsigned x = plane_of(values[0]), y = plane_of(values[1]), z = plane_of(values[2]),
                 w = plane_of(values[3]);
  return make_uint4(x, y, z, w);
}
