// Place in a ring of STAGES stages in shared memory, and the parity of its barriers' phase there.
// Producers and consumers each keep one and pass every stage in the same order.
template <int STAGES>
struct Ring {
  int stage = 0;
  unsigned parity = 0;

  __device__ __forceinline__ void advance() {
    if (++stage == STAGES) {
      stage = 0;
      parity ^= 1;
    }
  }
  // Past `count` stages that others fill or drain.
  __device__ __forceinline__ void skip(int count) {
    const int to = stage + count;
    parity ^= to / STAGES & 1;
    stage = to % STAGES;
  }
};
