// A step of K of a skinny product, held in the registers of one warp, and its multiply-add. Nothing
// passes shared memory: lane (g, t), with g = lane / 4 and t = lane % 4, owns PER neighbouring
// columns from PER g and RUN neighbours of K from RUN t, and loads just these, 16 bytes at a time
// where the layout allows.
//
// Tensor cores do not mind which element of K or which column stands where in a fragment, as long
// as both operands agree. So what a lane owns in memory is declared to be what its registers hold:
// the columns are the 16 rows of the product's long side, two to a lane, and the rows of A are its
// 8 columns. Wants: PER, RUN, ROWS, PITCH, TRANS_B, T_A; mma.cuh.

// Operands that a lane loads for one step.
struct Step {
  unsigned b[PER * 4];  // B as stored: [RUN][PER] elements, transposed: [PER][RUN]
  unsigned a[ROWS][4];  // A: [RUN] elements of each row
};

// COUNT words that this block reads once, or zeros where nothing is to be read: they need not
// displace anything in L1, and L2 may fetch whole lines. The predicate is the instruction's own,
// since a branch would hold up the loads behind it.
template <int COUNT>
__device__ __forceinline__ void load_words(unsigned* to, const void* from, bool wanted) {
#pragma unroll
  for (int i = 0; i < COUNT; ++i) to[i] = 0;
  if constexpr (COUNT == 1) {
    asm volatile(
        "{.reg .pred wanted; setp.ne.b32 wanted, %2, 0;\n"
        "@wanted ld.global.nc.L1::no_allocate.L2::128B.b32 %0, [%1];}"
        : "+r"(to[0])
        : "l"(from), "r"(static_cast<int>(wanted)));
  } else if constexpr (COUNT == 2) {
    asm volatile(
        "{.reg .pred wanted; setp.ne.b32 wanted, %3, 0;\n"
        "@wanted ld.global.nc.L1::no_allocate.L2::128B.v2.b32 {%0, %1}, [%2];}"
        : "+r"(to[0]), "+r"(to[1])
        : "l"(from), "r"(static_cast<int>(wanted)));
  } else {
    static_assert(COUNT == 4, "at most 16 bytes a load");
    asm volatile(
        "{.reg .pred wanted; setp.ne.b32 wanted, %5, 0;\n"
        "@wanted ld.global.nc.L1::no_allocate.L2::128B.v4.b32 {%0, %1, %2, %3}, [%4];}"
        : "+r"(to[0]), "+r"(to[1]), "+r"(to[2]), "+r"(to[3])
        : "l"(from), "r"(static_cast<int>(wanted)));
  }
}

// Two elements of 16 bits, the lower halves of two words or the upper ones: neighbours along K of
// one column.
__device__ __forceinline__ unsigned lower_halves(unsigned first, unsigned second) {
  return __byte_perm(first, second, 0x5410);
}
__device__ __forceinline__ unsigned upper_halves(unsigned first, unsigned second) {
  return __byte_perm(first, second, 0x7632);
}

// A warp's sums, of tensor cores or of the plain pipe.
template <bool TENSOR>
struct Sums;

// Tensor cores leave the sums of a lane's columns with its group of four, two rows of A to a lane.
template <>
struct Sums<true> {
  float at[PER / 2][ROWS][4] = {};

  __device__ __forceinline__ void add(const Step& step) {
#pragma unroll
    for (int pair = 0; pair < PER / 2; ++pair) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {  // of the lane's run of K
        unsigned long_side[4];
        if constexpr (TRANS_B != 0) {
          const unsigned* first = step.b + pair * 8 + half * 2;
          long_side[0] = first[0], long_side[1] = first[4], long_side[2] = first[1],
          long_side[3] = first[5];
        } else {
          const unsigned* row = step.b + half * 4 * (PER / 2) + pair;
          constexpr int NEXT = PER / 2;
          long_side[0] = lower_halves(row[0], row[NEXT]),
          long_side[1] = upper_halves(row[0], row[NEXT]);
          long_side[2] = lower_halves(row[2 * NEXT], row[3 * NEXT]),
          long_side[3] = upper_halves(row[2 * NEXT], row[3 * NEXT]);
        }
#pragma unroll
        for (int i = 0; i < ROWS; ++i) {
          multiply_add<T_A>(at[pair][i], long_side, {step.a[i][half * 2], step.a[i][half * 2 + 1]});
        }
      }
    }
  }

  // Leaves the warp's sums in `tile`, TILE_M rows of WARP_N.
  __device__ __forceinline__ void leave(float* tile, int lane) const {
#pragma unroll
    for (int i = 0; i < ROWS; ++i) {
#pragma unroll
      for (int low = 0; low < 2; ++low) {  // two rows of A a lane
        float* to = tile + (i * 8 + lane % 4 * 2 + low) * PITCH + lane / 4 * PER;
#pragma unroll
        for (int pair = 0; pair < PER / 2; ++pair) {
          *reinterpret_cast<float2*>(to + pair * 2) = {at[pair][i][low], at[pair][i][low + 2]};
        }
      }
    }
  }
};

// On the plain pipe each lane sums over its own share of K; the group of four adds up at the end.
template <>
struct Sums<false> {
  float at[ROWS][PER] = {};

  __device__ __forceinline__ void add(const Step& step) {
#pragma unroll
    for (int r = 0; r < RUN; ++r) {
#pragma unroll
      for (int c = 0; c < PER; ++c) {
        const float b = __uint_as_float(step.b[TRANS_B != 0 ? c * RUN + r : r * PER + c]);
#pragma unroll
        for (int i = 0; i < ROWS; ++i) at[i][c] = fmaf(__uint_as_float(step.a[i][r]), b, at[i][c]);
      }
    }
  }

  __device__ __forceinline__ void leave(float* tile, int lane) const {
#pragma unroll
    for (int i = 0; i < ROWS; ++i) {
#pragma unroll
      for (int c = 0; c < PER; ++c) {
        float sum = at[i][c];
        sum += __shfl_xor_sync(0xffffffffu, sum, 1);
        sum += __shfl_xor_sync(0xffffffffu, sum, 2);
        if (lane % 4 == 0) tile[i * PITCH + lane / 4 * PER + c] = sum;
      }
    }
  }
};
