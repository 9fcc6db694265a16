// Teams of TEAM neighbouring threads, a power of two, of a block of whole warps.

template <class State>
__device__ __forceinline__ State state_at(const float* from) {
  State out;
#pragma unroll
  for (int i = 0; i < State::SIZE; ++i) out.of[i] = from[i];
  return out;
}

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

// Combines the states of COUNT neighbouring lanes, a power of two, in each of them. EVEN: all have
// as many terms, so that a lane knows the others' numbers.
template <int COUNT, class How, bool EVEN>
__device__ __forceinline__ typename How::State of_lanes(typename How::State value) {
  using State = typename How::State;
#pragma unroll
  for (int step = COUNT / 2; step > 0; step /= 2) {
    // The lower thread's comes first, so that all threads have the same bits.
    const bool lower = (static_cast<int>(threadIdx.x) & step) == 0;
    State first, second;
#pragma unroll
    for (int i = 0; i < State::SIZE; ++i) {
      const bool known = EVEN && How::is_number(i);
      const float other = known ? value.of[i] : __shfl_xor_sync(0xffffffffu, value.of[i], step);
      first.of[i] = lower ? value.of[i] : other;
      second.of[i] = lower ? other : value.of[i];
    }
    value = How::of(first, second);
  }
  return value;
}

// Does so for several floats that `How` combines together (passes.cuh). `shared`: How::SIZE values
// a warp. Lanes combine what warps have as they combine their own: a thread that read all of it
// would keep How::SIZE registers a warp.
template <int TEAM, class How, bool EVEN = false>
__device__ __forceinline__ typename How::State of_team(typename How::State value, float* shared) {
  using State = typename How::State;
  value = of_lanes<(TEAM < 32 ? TEAM : 32), How, EVEN>(value);
  if constexpr (TEAM > 32) {
    constexpr int MEMBERS = TEAM / 32;
    const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
    if (lane == 0) {
#pragma unroll
      for (int i = 0; i < State::SIZE; ++i) shared[warp * State::SIZE + i] = value.of[i];
    }
    __syncthreads();
    const int member = warp / MEMBERS * MEMBERS + lane % MEMBERS;
    State of_warp = state_at<State>(shared + member * State::SIZE);
#pragma unroll
    for (int i = 0; i < State::SIZE; ++i) {
      if (EVEN && How::is_number(i)) of_warp.of[i] = value.of[i];
    }
    value = of_lanes<MEMBERS, How, EVEN>(of_warp);
    __syncthreads();
  }
  return value;
}
