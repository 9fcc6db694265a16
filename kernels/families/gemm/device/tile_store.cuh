// A warp's results from the registers where wgmma leaves them (wgmma.cuh): straight to memory, or
// to whole rows in shared memory, from where the copy engine stores them. Wants: STRIPS; tma.cuh,
// epilogue.cuh.
#include "cupilot/pairs.cuh"

// Stores a warpgroup's sums as they lie, two neighbours of a row a thread. (row, column): where its
// part of the output begins.
template <int PARTS, int COUNT>
__device__ __forceinline__ void store_direct(const Epilogue& epilogue,
                                             const float (&sum)[PARTS][COUNT], int row, int column,
                                             int warp, int lane) {
#pragma unroll
  for (int part = 0; part < PARTS; ++part) {
#pragma unroll
    for (int j = 0; j < COUNT / 4; ++j) {
      const float* s = sum[part] + 4 * j;
      const int at = row + part * 64 + warp * 16 + lane / 4;
      epilogue.store(at, column + j * 8 + lane % 4 * 2, {s[0], s[1]});
      epilogue.store(at + 8, column + j * 8 + lane % 4 * 2, {s[2], s[3]});
    }
  }
}

// Four 8 x 8 matrices of 16-bit elements to shared memory: lane l gives the address of row l % 8 of
// matrix l / 8, and holds columns 2 (l % 4) and the next of row l / 4 of each.
__device__ __forceinline__ void store_matrices(unsigned to, const unsigned (&words)[4]) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(to),
               "r"(words[0]), "r"(words[1]), "r"(words[2]), "r"(words[3])
               : "memory");
}
__device__ __forceinline__ void store_shared_pair(unsigned to, float first, float second) {
  asm volatile("st.shared.v2.f32 [%0], {%1, %2};" ::"r"(to), "f"(first), "f"(second) : "memory");
}

// Stores two such matrices.
__device__ __forceinline__ void store_matrices(unsigned to, const unsigned (&words)[2]) {
  asm volatile("stmatrix.sync.aligned.m8n8.x2.shared.b16 [%0], {%1, %2};" ::"r"(to), "r"(words[0]),
               "r"(words[1])
               : "memory");
}

// A strip is 16 rows of UNITS times 16 bytes, as the copy engine expects them: of 8 units and
// swizzled, or else one row after another, free of bank conflicts where UNITS is odd.
template <int UNITS>
__device__ __forceinline__ unsigned strip_address(unsigned strip, int row, int unit) {
  return strip + (UNITS == 8 ? swizzled(row, unit) : (row * UNITS + unit) * 16);
}

// Puts 16-bit results into a strip: words[2 u] and words[2 u + 1] are this lane's two neighbours of
// unit u, in row lane / 4 and 8 rows below, as wgmma leaves them (wgmma.cuh).
template <int UNITS>
__device__ __forceinline__ void put_strip(unsigned strip, const unsigned* words, int lane) {
#pragma unroll
  for (int u = 0; u + 1 < UNITS; u += 2) {
    const unsigned four[4] = {words[2 * u], words[2 * u + 1], words[2 * u + 2], words[2 * u + 3]};
    store_matrices(strip_address<UNITS>(strip, lane % 16, u + lane / 16), four);
  }
  if constexpr (UNITS % 2 != 0) {
    const unsigned two[2] = {words[2 * UNITS - 2], words[2 * UNITS - 1]};
    store_matrices(strip_address<UNITS>(strip, lane % 16, UNITS - 1), two);
  }
}

// Finishes the results of one warp's 16 rows and COLUMNS columns from their sums `s`, as wgmma
// leaves them; the first is (top, left) of the output. The words are those of put_strip.
template <class T, int COLUMNS>
__device__ __forceinline__ void pack_results(const Epilogue& epilogue, unsigned* words,
                                             const float* s, int top, int left, int lane) {
#pragma unroll
  for (int i = 0; i < COLUMNS / 4; ++i) {
    const int row = top + lane / 4 + i % 2 * 8;
    const int column = left + i / 2 * 8 + lane % 4 * 2;
    words[i] = pack_pair<T>(epilogue.finish_inside(s[2 * i], row, column),
                            epilogue.finish_inside(s[2 * i + 1], row, column + 1));
  }
}

// Fills a strip with the finished results of one warp, from their sums.
template <class T, int UNITS = 8>
__device__ __forceinline__ void fill_strip(const Epilogue& epilogue, unsigned strip, const float* s,
                                           int top, int left, int lane) {
  constexpr int COLUMNS = UNITS * 16 / static_cast<int>(sizeof(T));
  if constexpr (sizeof(T) == 2) {
    unsigned words[COLUMNS / 4];
    pack_results<T, COLUMNS>(epilogue, words, s, top, left, lane);
    put_strip<UNITS>(strip, words, lane);
  } else {
    static_assert(STRIPS == 0 || sizeof(T) == 4, "results of 8 bits have no strip");
    const auto finished = [&](int j, int r) {
      return epilogue.finish_inside(s[4 * j + r], top + lane / 4 + r / 2 * 8,
                                    left + j * 8 + lane % 4 * 2 + r % 2);
    };
#pragma unroll
    for (int j = 0; j < COLUMNS / 8; ++j) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const unsigned pair =
            strip_address<UNITS>(strip, lane / 4 + half * 8, j * 2 + lane % 4 / 2) + lane % 2 * 8;
        store_shared_pair(pair, finished(j, half * 2), finished(j, half * 2 + 1));
      }
    }
  }
}
