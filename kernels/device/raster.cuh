// The order in which blocks walk the tiles of the output. Blocks that run at the same time should
// share rows of A and columns of B, so that L2 serves them: tiles are walked in bands of `group`
// tile rows. A band counts no more rows than there are, so that its tiles can be counted wherever
// all can.
struct Tile {
  int m, n;
};

// A band is walked column by column, every other one backwards, so that it begins where the last
// one ended.
__device__ __forceinline__ Tile tile_at(int index, int tiles_m, int tiles_n, int group) {
  const int per_group = min(group, tiles_m) * tiles_n;
  const int which = index / per_group;
  const int first = which * group;
  const int rows = min(group, tiles_m - first);  // the last group may be lower
  const int within = index - which * per_group;
  const int column = within / rows;
  const int row = within - column * rows;
  return {first + row, which % 2 == 0 ? column : tiles_n - 1 - column};
}

// Place number `index` of Hilbert's curve through a square of `side` (a power of two) by `side`,
// from its first column's first row to its last column's: each quarter is a curve of its own, the
// first and last of them mirrored.
__device__ __forceinline__ Tile hilbert_at(int index, int side) {
  Tile at{0, 0};
  for (int size = 1; size < side; size *= 2) {
    const int right = index / 2 % 2;
    const int low = (index ^ right) % 2;
    if (low == 0) {
      if (right != 0) at = {size - 1 - at.m, size - 1 - at.n};
      at = {at.n, at.m};
    }
    at.m += size * low;
    at.n += size * right;
    index /= 4;
  }
  return at;
}

// A band is walked square by square along Hilbert's curve; columns at the end that make no square,
// and a last band of fewer rows, column by column. `group` is a power of two.
__device__ __forceinline__ Tile curved_tile_at(int index, int tiles_m, int tiles_n, int group) {
  const int per_group = min(group, tiles_m) * tiles_n;
  const int which = index / per_group;
  const int first = which * group;
  const int within = index - which * per_group;
  const int square = within / (group * group);
  if (first + group > tiles_m || (square + 1) * group > tiles_n)
    return tile_at(index, tiles_m, tiles_n, group);
  const Tile tile = hilbert_at(within - square * group * group, group);
  const int column = square * group + tile.n;
  return {first + tile.m, which % 2 == 0 ? column : tiles_n - 1 - column};
}
