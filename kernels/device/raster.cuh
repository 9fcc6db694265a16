// The order in which blocks walk the tiles of the output. Blocks that run at the same time should share rows of A and
// columns of B, so that L2 serves them: a group of `group` tile rows is walked column by column before the next group.
struct Tile {
  int m, n;
};

__device__ __forceinline__ Tile tile_at(int index, int tiles_m, int tiles_n, int group) {
  const int per_group = group * tiles_n;
  const int which = index / per_group;
  const int first = which * group;
  const int rows = min(group, tiles_m - first);  // the last group may be lower
  const int within = index - which * per_group;
  const int column = within / rows;
  const int row = within - column * rows;
  // Every other group is walked backwards, so that its first columns are those the last group has just used.
  return {first + row, which % 2 == 0 ? column : tiles_n - 1 - column};
}
