// cp.async: a copy from global to shared memory that passes no register and is waited for later, in
// groups.
__device__ __forceinline__ unsigned shared_address(const void* pointer) {
  return static_cast<unsigned>(__cvta_generic_to_shared(pointer));
}

// Copies the first `valid` of BYTES bytes and fills the rest with zeros. `valid` 0 reads nothing;
// the address must still be a legal one. 16-byte copies go past L1 (.cg); with HINT the L2 fetches
// the whole 128-byte line.
template <int BYTES, bool HINT>
__device__ __forceinline__ void copy_async(unsigned to, const void* from, int valid) {
  if constexpr (BYTES == 16 && HINT) {
    asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;" ::"r"(to), "l"(from),
                 "r"(valid)
                 : "memory");
  } else if constexpr (BYTES == 16) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(valid)
                 : "memory");
  } else {
    asm volatile("cp.async.ca.shared.global [%0], [%1], %3, %2;" ::"r"(to), "l"(from), "r"(valid),
                 "n"(BYTES)
                 : "memory");
  }
}
// The whole of BYTES bytes: nothing to predicate.
template <int BYTES, bool HINT>
__device__ __forceinline__ void copy_async(unsigned to, const void* from) {
  if constexpr (BYTES == 16 && HINT) {
    asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16;" ::"r"(to), "l"(from)
                 : "memory");
  } else if constexpr (BYTES == 16) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(from) : "memory");
  } else {
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(to), "l"(from), "n"(BYTES)
                 : "memory");
  }
}

// Closes the group of copies this thread has started since the last call.
__device__ __forceinline__ void commit_copies() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}

// Waits until at most NEWEST groups of this thread are still under way. A block barrier must follow
// before other threads read what was copied.
template <int NEWEST>
__device__ __forceinline__ void wait_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(NEWEST) : "memory");
}
