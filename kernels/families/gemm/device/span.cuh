// Products of triangles. Wants: raster.cuh.

// Places along K at which no operand is zero by its declared triangle, of a tile of `rows` rows of
// D by `columns` columns: those from its first row or column on, up to its last. `kinds` is
// Graph::SPANS. A slab is `depth` places.
struct Span {
  static constexpr int FROM_ROW = 1, TO_ROW = 2, FROM_COLUMN = 4, TO_COLUMN = 8;
  int kinds = 0, rows = 0, columns = 0, depth = 1;

  // With rows and columns of D in each other's place.
  __device__ static constexpr int swapped(int kinds) { return kinds / 4 + kinds % 4 * 4; }
  // The long tiles lie at the end.
  __device__ __forceinline__ bool grows() const {
    return (kinds & TO_ROW) != 0 || (kinds & (TO_COLUMN | FROM_ROW)) == TO_COLUMN;
  }
  // Leaves those slabs of first_slab, … whose products are not all zero; at least one.
  __device__ __forceinline__ void narrow(const Tile& tile, int& first_slab, int& slabs) const {
    const int row = tile.m * rows, column = tile.n * columns;
    int first = first_slab, end = first_slab + slabs;
    if (kinds & FROM_ROW) first = max(first, row / depth);
    if (kinds & FROM_COLUMN) first = max(first, column / depth);
    if (kinds & TO_ROW) end = min(end, (row + rows - 1) / depth + 1);
    if (kinds & TO_COLUMN) end = min(end, (column + columns - 1) / depth + 1);
    first_slab = min(first, first_slab + slabs - 1);
    slabs = max(end - first_slab, 1);
  }
};
