// Teams of TEAM neighbouring threads, a power of two, of a block of whole warps.

// The combination of a team's values, in every thread of it. The order does not depend on timing.
// `shared`: a value a warp of the block, free again when it returns.
template <int TEAM, class How>
__device__ __forceinline__ float of_team(float value, float* shared) {
#pragma unroll
  for (int step = (TEAM < 32 ? TEAM : 32) / 2; step > 0; step /= 2)
    value = How::of(value, __shfl_xor_sync(0xffffffffu, value, step));
  if constexpr (TEAM > 32) {
    constexpr int MEMBERS = TEAM / 32;
    const int warp = static_cast<int>(threadIdx.x) / 32;
    if (threadIdx.x % 32 == 0) shared[warp] = value;
    __syncthreads();
    const int first = warp / MEMBERS * MEMBERS;
    value = shared[first];
#pragma unroll
    for (int other = 1; other < MEMBERS; ++other) value = How::of(value, shared[first + other]);
    __syncthreads();
  }
  return value;
}
