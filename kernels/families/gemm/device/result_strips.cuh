// Strips of shared memory through which a warp's results reach the copy engine, 16 rows at a time;
// the next is filled while those before are copied out. Results go at once, or are packed first,
// which frees the sums for the next tile, and stored piece by piece beside its products. Wants:
// TILE_N, PARTS_M, STRIPS, DEFERRED, STREAM_STORE, T_D; tile_store.cuh.
//
// A tile's row of results is cut into strips of one width. With 8 units, the 128 bytes of a
// swizzled row, strips have no bank conflicts; else their rows follow one another, and the 8 rows
// that a matrix is written to begin in different banks only where the units of a row are odd. So
// these are halved until they are odd; where twice is not enough, 8 divides them. The box of a
// tensor map would take up to 32 units, 256 words of 2 bytes, but wide strips take shared memory
// from stages: those above 19 units are cut in three where 3 divides them, and stay odd. So the 21
// units of 168 columns become strips of 7; 19, of 152, is prime.
constexpr int ROW_UNITS =
    TILE_N * static_cast<int>(sizeof(T_D)) / 16;  // of 16 bytes, in a tile's row of results
constexpr int ODD_UNITS = ROW_UNITS % 2       ? ROW_UNITS
                          : ROW_UNITS / 2 % 2 ? ROW_UNITS / 2
                          : ROW_UNITS / 4 % 2 ? ROW_UNITS / 4
                                              : 8;
constexpr int STRIP_UNITS = ODD_UNITS > 19 && ODD_UNITS % 3 == 0 ? ODD_UNITS / 3 : ODD_UNITS;
constexpr int STRIP_BYTES = 16 * STRIP_UNITS * 16;
constexpr int STRIP_COLUMNS = STRIP_UNITS * 16 / static_cast<int>(sizeof(T_D));
constexpr int STRIPS_A_ROW = TILE_N / STRIP_COLUMNS;

struct ResultStrips {
  static constexpr int PIECES = PARTS_M * STRIPS_A_ROW;  // strips that a warp's rows of a tile fill
  static constexpr int KEPT = DEFERRED != 0 ? PIECES : 0;  // of them in registers
  unsigned strips;                                         // the warp's own, STRIPS of them
  int lane;
  unsigned strip = 0;                           // the one to fill next
  unsigned words[KEPT + 1][STRIP_COLUMNS / 4];  // pairs of 16 bits, as put_strip takes them
  int row, column, batch;                       // of the packed tile
  int next = KEPT;                              // piece of it to store

  static __device__ __forceinline__ int part_of(int piece) { return piece / STRIPS_A_ROW; }
  static __device__ __forceinline__ int column_of(int piece) {
    return piece % STRIPS_A_ROW * STRIP_COLUMNS;
  }
  __device__ __forceinline__ bool empty() const { return next >= KEPT; }

  template <class Fill>
  __device__ __forceinline__ void store_strip(const TensorMap& map, int top, int left, int matrix,
                                              Fill fill) {
    const unsigned to = strips + strip * STRIP_BYTES;
    strip = strip + 1 == STRIPS ? 0 : strip + 1;
    wait_stores_read<STRIPS - 1>();  // the copy that used this strip before has read it
    __syncwarp();
    fill(to);
    fence_for_copies();
    __syncwarp();
    if (lane == 0) {
      store_tile<STREAM_STORE != 0>(map, to, left * (static_cast<int>(sizeof(T_D)) / 2), top,
                                    matrix);
      commit_stores();
    }
  }

  // `top`: the warp's first row of its tile's first part; parts are 64 rows apart.
  __device__ __forceinline__ void store(const Epilogue& epilogue, const TensorMap& map,
                                        const float (&sum)[PARTS_M][TILE_N / 2], int matrix,
                                        int top, int left) {
#pragma unroll
    for (int piece = 0; piece < PIECES; ++piece) {
      const int part = part_of(piece), first = column_of(piece);
      store_strip(map, top + part * 64, left + first, matrix, [&](unsigned to) {
        fill_strip<T_D, STRIP_UNITS>(epilogue, to, sum[part] + first / 2, top + part * 64,
                                     left + first, lane);
      });
    }
  }

  template <class T>
  __device__ __forceinline__ void pack(const Epilogue& epilogue,
                                       const float (&sum)[PARTS_M][TILE_N / 2], int matrix, int top,
                                       int left) {
#pragma unroll
    for (int piece = 0; piece < KEPT; ++piece) {
      const int part = part_of(piece), first = column_of(piece);
      pack_results<T, STRIP_COLUMNS>(epilogue, words[piece], sum[part] + first / 2, top + part * 64,
                                     left + first, lane);
    }
    row = top;
    column = left;
    batch = matrix;
    next = 0;
  }
  __device__ __forceinline__ void store_piece(const TensorMap& map) {
#pragma unroll
    for (int piece = 0; piece < KEPT; ++piece) {  // registers have no run-time index
      if (piece != next) continue;
      store_strip(map, row + part_of(piece) * 64, column + column_of(piece), batch,
                  [&](unsigned to) { put_strip<STRIP_UNITS>(to, words[piece], lane); });
    }
    ++next;
  }
  __device__ __forceinline__ void store_rest(const TensorMap& map) {
#pragma unroll 1
    while (!empty()) store_piece(map);
  }
};
