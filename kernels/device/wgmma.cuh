// Matrix multiply-add of a warpgroup (wgmma): four warps that start at a multiple of four multiply
// 64 x K by K x N, both from shared memory, into fp32 sums in registers. K is 32 bytes of elements.
// It runs beside the warps that issued it:
//
//   multiply_fence();            // whatever else touched the sums is done
//   Wgmma<N>::multiply<T, ..>()  // any number of them
//   multiply_commit();           // closes a group
//   multiply_wait<0>();          // until then neither sums nor tiles in shared memory may be
//   touched
//
// In a warpgroup's thread of warp w and lane l, sum[4 j + r] belongs to row 16 w + l / 4 + 8 (r /
// 2) and to column 8 j + 2 (l % 4) + r % 2.

__device__ __forceinline__ void multiply_fence() {
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}
__device__ __forceinline__ void multiply_commit() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
// Until at most NEWEST groups of this warpgroup are under way.
template <int NEWEST>
__device__ __forceinline__ void multiply_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(NEWEST) : "memory");
}
// Registers of each thread of the warpgroup from here on: MORE takes them from what others have let
// go, and waits for it.
template <int COUNT, bool MORE>
__device__ __forceinline__ void take_registers() {
  if constexpr (MORE) {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(COUNT));
  } else {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(COUNT));
  }
}
// Keeps the compiler from moving reads of the sums before the wait: to it, they are ready when they
// are issued.
template <int COUNT>
__device__ __forceinline__ void settle(float (&sum)[COUNT]) {
#pragma unroll
  for (int i = 0; i < COUNT; ++i) asm volatile("" : "+f"(sum[i])::"memory");
}

// Describes to the unit a tile in shared memory with 128-byte swizzle: its address, the bytes
// from one block of 64 rows or columns to the next, and those from one group of 8 lines to the
// next, all in units of 16 bytes. A tile whose lines run along K ignores the first.
__device__ __forceinline__ unsigned long long tile_descriptor(unsigned address,
                                                              unsigned next_block) {
  constexpr unsigned next_lines = 8 * 128;
  constexpr unsigned long long swizzle_128 = 1ull << 62;
  return (address & 0x3ffff) >> 4 | static_cast<unsigned long long>(next_block >> 4) << 16 |
         static_cast<unsigned long long>(next_lines >> 4) << 32 | swizzle_128;
}

template <bool WHICH, class Yes, class No>
struct Either {
  using type = Yes;
};
template <class Yes, class No>
struct Either<false, Yes, No> {
  using type = No;
};
template <class T, class U>
constexpr bool same = false;
template <class T>
constexpr bool same<T, T> = true;

// multiply<T, A_TURNED, B_TURNED>(sum, a, b, keep): sum = (keep ? sum : 0) + A B. A tile is turned
// when its lines run along M or N, which only elements of 16 bits may; float means tf32. The
// instruction names every register, so each width has a form of its own; the numbers that follow a
// width are those of the operands behind its N / 2 sums.
template <int N>
struct Wgmma;

// clang-format off
#define CUPILOT_PRODUCT(N, TYPES, A, B, KEEP, TURN_A, TURN_B)                                                                  \
  asm volatile("{.reg .pred keep; setp.ne.b32 keep, " KEEP ", 0; wgmma.mma_async.sync.aligned.m64n" #N TYPES " {"               \
               CUPILOT_REGISTERS_##N "}, " A ", " B ", keep, 1, 1, " TURN_A ", " TURN_B ";}"                                     \
               : CUPILOT_SUMS_##N : "l"(a), "l"(b), "r"(keep), "n"(A_TURNED), "n"(B_TURNED))
#define CUPILOT_PRODUCT_ALONG_K(N, TYPES, A, B, KEEP, TURN_A, TURN_B)                                                          \
  asm volatile("{.reg .pred keep; setp.ne.b32 keep, " KEEP ", 0; wgmma.mma_async.sync.aligned.m64n" #N TYPES " {"               \
               CUPILOT_REGISTERS_##N "}, " A ", " B ", keep, 1, 1;}"                                                             \
               : CUPILOT_SUMS_##N : "l"(a), "l"(b), "r"(keep))
// A from registers: four words, in the layout of mma.cuh's A with 16 rows to each warp. Whether sums are kept is text here, so
// that the words take the places of A's descriptor and of that operand. multiply_turned, of 16-bit elements and a turned B, adds
// to the sums.
#define CUPILOT_PRODUCT_REGISTERS(N, TYPES, A, A1, A2, A3, B, KEEP)                                                            \
  asm volatile("{.reg .pred keep; setp.ne.b32 keep, " KEEP ", 0; wgmma.mma_async.sync.aligned.m64n" #N TYPES " {"               \
               CUPILOT_REGISTERS_##N "}, {" A ", " A1 ", " A2 ", " A3 "}, " B ", keep, 1, 1;}"                                   \
               : CUPILOT_SUMS_##N : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b))
#define CUPILOT_PRODUCT_REGISTERS_TURNED(N, TYPES, A, A1, A2, A3, B)                                                           \
  asm volatile("{.reg .pred keep; setp.ne.b32 keep, 1, 0; wgmma.mma_async.sync.aligned.m64n" #N TYPES " {"                      \
               CUPILOT_REGISTERS_##N "}, {" A ", " A1 ", " A2 ", " A3 "}, " B ", keep, 1, 1, 1;}"                                \
               : CUPILOT_SUMS_##N : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b))
#define CUPILOT_WGMMA(N, ...)                                                                                                  \
  template <> struct Wgmma<N> {                                                                                                \
    template <class T, int A_TURNED, int B_TURNED>                                                                             \
    static __device__ __forceinline__ void multiply(float (&sum)[N / 2], unsigned long long a, unsigned long long b, int keep) { \
      static_assert(sizeof(T) == 2 || A_TURNED + B_TURNED == 0, "lines of such elements run along K");                          \
      if constexpr (same<T, bf16>) CUPILOT_PRODUCT(N, "k16.f32.bf16.bf16", __VA_ARGS__);                                        \
      if constexpr (same<T, fp16>) CUPILOT_PRODUCT(N, "k16.f32.f16.f16", __VA_ARGS__);                                          \
      if constexpr (same<T, float>) CUPILOT_PRODUCT_ALONG_K(N, "k8.f32.tf32.tf32", __VA_ARGS__);                                \
      if constexpr (same<T, e4m3>) CUPILOT_PRODUCT_ALONG_K(N, "k32.f32.e4m3.e4m3", __VA_ARGS__);                                \
      if constexpr (same<T, e5m2>) CUPILOT_PRODUCT_ALONG_K(N, "k32.f32.e5m2.e5m2", __VA_ARGS__);                                \
    }                                                                                                                          \
    template <bool KEEP>                                                                                                       \
    static __device__ __forceinline__ void multiply_tf32(float (&sum)[N / 2], const unsigned (&a)[4], unsigned long long b) {  \
      if constexpr (KEEP) CUPILOT_PRODUCT_REGISTERS(N, "k8.f32.tf32.tf32", __VA_ARGS__, "1");                                  \
      if constexpr (!KEEP) CUPILOT_PRODUCT_REGISTERS(N, "k8.f32.tf32.tf32", __VA_ARGS__, "0");                                 \
    }                                                                                                                          \
    template <class T>                                                                                                         \
    static __device__ __forceinline__ void multiply_turned(float (&sum)[N / 2], const unsigned (&a)[4], unsigned long long b) { \
      if constexpr (same<T, bf16>) CUPILOT_PRODUCT_REGISTERS_TURNED(N, "k16.f32.bf16.bf16", __VA_ARGS__);                       \
      if constexpr (same<T, fp16>) CUPILOT_PRODUCT_REGISTERS_TURNED(N, "k16.f32.f16.f16", __VA_ARGS__);                         \
    }                                                                                                                          \
  };
#define CUPILOT_REGISTERS_8 "%0, %1, %2, %3"
#define CUPILOT_SUMS_8 "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
#define CUPILOT_REGISTERS_16 CUPILOT_REGISTERS_8 ", %4, %5, %6, %7"
#define CUPILOT_SUMS_16 CUPILOT_SUMS_8, "+f"(sum[4]), "+f"(sum[5]), "+f"(sum[6]), "+f"(sum[7])
#define CUPILOT_REGISTERS_24 CUPILOT_REGISTERS_16 ", %8, %9, %10, %11"
#define CUPILOT_SUMS_24 CUPILOT_SUMS_16, "+f"(sum[8]), "+f"(sum[9]), "+f"(sum[10]), "+f"(sum[11])
#define CUPILOT_REGISTERS_32 CUPILOT_REGISTERS_24 ", %12, %13, %14, %15"
#define CUPILOT_SUMS_32 CUPILOT_SUMS_24, "+f"(sum[12]), "+f"(sum[13]), "+f"(sum[14]), "+f"(sum[15])
#define CUPILOT_REGISTERS_40 CUPILOT_REGISTERS_32 ", %16, %17, %18, %19"
#define CUPILOT_SUMS_40 CUPILOT_SUMS_32, "+f"(sum[16]), "+f"(sum[17]), "+f"(sum[18]), "+f"(sum[19])
#define CUPILOT_REGISTERS_48 CUPILOT_REGISTERS_40 ", %20, %21, %22, %23"
#define CUPILOT_SUMS_48 CUPILOT_SUMS_40, "+f"(sum[20]), "+f"(sum[21]), "+f"(sum[22]), "+f"(sum[23])
#define CUPILOT_REGISTERS_56 CUPILOT_REGISTERS_48 ", %24, %25, %26, %27"
#define CUPILOT_SUMS_56 CUPILOT_SUMS_48, "+f"(sum[24]), "+f"(sum[25]), "+f"(sum[26]), "+f"(sum[27])
#define CUPILOT_REGISTERS_64 CUPILOT_REGISTERS_56 ", %28, %29, %30, %31"
#define CUPILOT_SUMS_64 CUPILOT_SUMS_56, "+f"(sum[28]), "+f"(sum[29]), "+f"(sum[30]), "+f"(sum[31])
#define CUPILOT_REGISTERS_72 CUPILOT_REGISTERS_64 ", %32, %33, %34, %35"
#define CUPILOT_SUMS_72 CUPILOT_SUMS_64, "+f"(sum[32]), "+f"(sum[33]), "+f"(sum[34]), "+f"(sum[35])
#define CUPILOT_REGISTERS_80 CUPILOT_REGISTERS_72 ", %36, %37, %38, %39"
#define CUPILOT_SUMS_80 CUPILOT_SUMS_72, "+f"(sum[36]), "+f"(sum[37]), "+f"(sum[38]), "+f"(sum[39])
#define CUPILOT_REGISTERS_88 CUPILOT_REGISTERS_80 ", %40, %41, %42, %43"
#define CUPILOT_SUMS_88 CUPILOT_SUMS_80, "+f"(sum[40]), "+f"(sum[41]), "+f"(sum[42]), "+f"(sum[43])
#define CUPILOT_REGISTERS_96 CUPILOT_REGISTERS_88 ", %44, %45, %46, %47"
#define CUPILOT_SUMS_96 CUPILOT_SUMS_88, "+f"(sum[44]), "+f"(sum[45]), "+f"(sum[46]), "+f"(sum[47])
#define CUPILOT_REGISTERS_104 CUPILOT_REGISTERS_96 ", %48, %49, %50, %51"
#define CUPILOT_SUMS_104 CUPILOT_SUMS_96, "+f"(sum[48]), "+f"(sum[49]), "+f"(sum[50]), "+f"(sum[51])
#define CUPILOT_REGISTERS_112 CUPILOT_REGISTERS_104 ", %52, %53, %54, %55"
#define CUPILOT_SUMS_112 CUPILOT_SUMS_104, "+f"(sum[52]), "+f"(sum[53]), "+f"(sum[54]), "+f"(sum[55])
#define CUPILOT_REGISTERS_120 CUPILOT_REGISTERS_112 ", %56, %57, %58, %59"
#define CUPILOT_SUMS_120 CUPILOT_SUMS_112, "+f"(sum[56]), "+f"(sum[57]), "+f"(sum[58]), "+f"(sum[59])
#define CUPILOT_REGISTERS_128 CUPILOT_REGISTERS_120 ", %60, %61, %62, %63"
#define CUPILOT_SUMS_128 CUPILOT_SUMS_120, "+f"(sum[60]), "+f"(sum[61]), "+f"(sum[62]), "+f"(sum[63])
#define CUPILOT_REGISTERS_136 CUPILOT_REGISTERS_128 ", %64, %65, %66, %67"
#define CUPILOT_SUMS_136 CUPILOT_SUMS_128, "+f"(sum[64]), "+f"(sum[65]), "+f"(sum[66]), "+f"(sum[67])
#define CUPILOT_REGISTERS_144 CUPILOT_REGISTERS_136 ", %68, %69, %70, %71"
#define CUPILOT_SUMS_144 CUPILOT_SUMS_136, "+f"(sum[68]), "+f"(sum[69]), "+f"(sum[70]), "+f"(sum[71])
#define CUPILOT_REGISTERS_152 CUPILOT_REGISTERS_144 ", %72, %73, %74, %75"
#define CUPILOT_SUMS_152 CUPILOT_SUMS_144, "+f"(sum[72]), "+f"(sum[73]), "+f"(sum[74]), "+f"(sum[75])
#define CUPILOT_REGISTERS_160 CUPILOT_REGISTERS_152 ", %76, %77, %78, %79"
#define CUPILOT_SUMS_160 CUPILOT_SUMS_152, "+f"(sum[76]), "+f"(sum[77]), "+f"(sum[78]), "+f"(sum[79])
#define CUPILOT_REGISTERS_168 CUPILOT_REGISTERS_160 ", %80, %81, %82, %83"
#define CUPILOT_SUMS_168 CUPILOT_SUMS_160, "+f"(sum[80]), "+f"(sum[81]), "+f"(sum[82]), "+f"(sum[83])
#define CUPILOT_REGISTERS_176 CUPILOT_REGISTERS_168 ", %84, %85, %86, %87"
#define CUPILOT_SUMS_176 CUPILOT_SUMS_168, "+f"(sum[84]), "+f"(sum[85]), "+f"(sum[86]), "+f"(sum[87])
#define CUPILOT_REGISTERS_184 CUPILOT_REGISTERS_176 ", %88, %89, %90, %91"
#define CUPILOT_SUMS_184 CUPILOT_SUMS_176, "+f"(sum[88]), "+f"(sum[89]), "+f"(sum[90]), "+f"(sum[91])
#define CUPILOT_REGISTERS_192 CUPILOT_REGISTERS_184 ", %92, %93, %94, %95"
#define CUPILOT_SUMS_192 CUPILOT_SUMS_184, "+f"(sum[92]), "+f"(sum[93]), "+f"(sum[94]), "+f"(sum[95])
#define CUPILOT_REGISTERS_200 CUPILOT_REGISTERS_192 ", %96, %97, %98, %99"
#define CUPILOT_SUMS_200 CUPILOT_SUMS_192, "+f"(sum[96]), "+f"(sum[97]), "+f"(sum[98]), "+f"(sum[99])
#define CUPILOT_REGISTERS_208 CUPILOT_REGISTERS_200 ", %100, %101, %102, %103"
#define CUPILOT_SUMS_208 CUPILOT_SUMS_200, "+f"(sum[100]), "+f"(sum[101]), "+f"(sum[102]), "+f"(sum[103])
#define CUPILOT_REGISTERS_216 CUPILOT_REGISTERS_208 ", %104, %105, %106, %107"
#define CUPILOT_SUMS_216 CUPILOT_SUMS_208, "+f"(sum[104]), "+f"(sum[105]), "+f"(sum[106]), "+f"(sum[107])
#define CUPILOT_REGISTERS_224 CUPILOT_REGISTERS_216 ", %108, %109, %110, %111"
#define CUPILOT_SUMS_224 CUPILOT_SUMS_216, "+f"(sum[108]), "+f"(sum[109]), "+f"(sum[110]), "+f"(sum[111])
#define CUPILOT_REGISTERS_232 CUPILOT_REGISTERS_224 ", %112, %113, %114, %115"
#define CUPILOT_SUMS_232 CUPILOT_SUMS_224, "+f"(sum[112]), "+f"(sum[113]), "+f"(sum[114]), "+f"(sum[115])
#define CUPILOT_REGISTERS_240 CUPILOT_REGISTERS_232 ", %116, %117, %118, %119"
#define CUPILOT_SUMS_240 CUPILOT_SUMS_232, "+f"(sum[116]), "+f"(sum[117]), "+f"(sum[118]), "+f"(sum[119])
#define CUPILOT_REGISTERS_248 CUPILOT_REGISTERS_240 ", %120, %121, %122, %123"
#define CUPILOT_SUMS_248 CUPILOT_SUMS_240, "+f"(sum[120]), "+f"(sum[121]), "+f"(sum[122]), "+f"(sum[123])
#define CUPILOT_REGISTERS_256 CUPILOT_REGISTERS_248 ", %124, %125, %126, %127"
#define CUPILOT_SUMS_256 CUPILOT_SUMS_248, "+f"(sum[124]), "+f"(sum[125]), "+f"(sum[126]), "+f"(sum[127])
CUPILOT_WGMMA(8, "%4", "%5", "%6", "%7", "%8")
CUPILOT_WGMMA(16, "%8", "%9", "%10", "%11", "%12")
CUPILOT_WGMMA(24, "%12", "%13", "%14", "%15", "%16")
CUPILOT_WGMMA(32, "%16", "%17", "%18", "%19", "%20")
CUPILOT_WGMMA(40, "%20", "%21", "%22", "%23", "%24")
CUPILOT_WGMMA(48, "%24", "%25", "%26", "%27", "%28")
CUPILOT_WGMMA(56, "%28", "%29", "%30", "%31", "%32")
CUPILOT_WGMMA(64, "%32", "%33", "%34", "%35", "%36")
CUPILOT_WGMMA(72, "%36", "%37", "%38", "%39", "%40")
CUPILOT_WGMMA(80, "%40", "%41", "%42", "%43", "%44")
CUPILOT_WGMMA(88, "%44", "%45", "%46", "%47", "%48")
CUPILOT_WGMMA(96, "%48", "%49", "%50", "%51", "%52")
CUPILOT_WGMMA(104, "%52", "%53", "%54", "%55", "%56")
CUPILOT_WGMMA(112, "%56", "%57", "%58", "%59", "%60")
CUPILOT_WGMMA(120, "%60", "%61", "%62", "%63", "%64")
CUPILOT_WGMMA(128, "%64", "%65", "%66", "%67", "%68")
CUPILOT_WGMMA(136, "%68", "%69", "%70", "%71", "%72")
CUPILOT_WGMMA(144, "%72", "%73", "%74", "%75", "%76")
CUPILOT_WGMMA(152, "%76", "%77", "%78", "%79", "%80")
CUPILOT_WGMMA(160, "%80", "%81", "%82", "%83", "%84")
CUPILOT_WGMMA(168, "%84", "%85", "%86", "%87", "%88")
CUPILOT_WGMMA(176, "%88", "%89", "%90", "%91", "%92")
CUPILOT_WGMMA(184, "%92", "%93", "%94", "%95", "%96")
CUPILOT_WGMMA(192, "%96", "%97", "%98", "%99", "%100")
CUPILOT_WGMMA(200, "%100", "%101", "%102", "%103", "%104")
CUPILOT_WGMMA(208, "%104", "%105", "%106", "%107", "%108")
CUPILOT_WGMMA(216, "%108", "%109", "%110", "%111", "%112")
CUPILOT_WGMMA(224, "%112", "%113", "%114", "%115", "%116")
CUPILOT_WGMMA(232, "%116", "%117", "%118", "%119", "%120")
CUPILOT_WGMMA(240, "%120", "%121", "%122", "%123", "%124")
CUPILOT_WGMMA(248, "%124", "%125", "%126", "%127", "%128")
CUPILOT_WGMMA(256, "%128", "%129", "%130", "%131", "%132")
// clang-format on
