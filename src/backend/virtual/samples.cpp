// Choice of the blocks of a grid that are run for all of it.
#include <algorithm>
#include <array>
#include <cmath>

#include "backend/virtual/counts.hpp"

namespace cupilot {
namespace {

// A position along one side of the grid and how many it stands for.
struct GridPlace {
  std::int64_t at = 0;
  double weight = 1;
};

std::vector<GridPlace> places(std::int64_t side) {
  if (side == 1) return {{0, 1}};
  return {{(side - 1) / 2, static_cast<double>(side - 1)}, {side - 1, 1}};
}

// Splits the middle of a side into two neighbours. Rows and planes may take turns in their work: a
// stride of two leaves every other row of a transposed convolution without a tap.
std::vector<GridPlace> turned(const GridPlace& middle, std::int64_t side) {
  if (side < 4) return {middle};
  return {{middle.at, middle.weight / 2}, {middle.at + 1, middle.weight / 2}};
}

// Positions of a grid of one dimension, whose order the kernel may have changed: the ends, which
// stand for themselves, and one in each of equal stretches between them. The step within a
// stretch follows no multiple of tiles.
std::vector<GridPlace> spread(std::int64_t side) {
  constexpr std::int64_t most = 6;
  constexpr double golden = 0.6180339887498949;
  std::vector<GridPlace> all;
  if (side <= most) {
    for (std::int64_t at = 0; at < side; ++at) all.push_back({at, 1});
    return all;
  }
  const std::int64_t between = side - 2, count = most - 2;
  all.push_back({0, 1});
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t first = i * between / count, end = (i + 1) * between / count;
    const double part = golden * static_cast<double>(i + 1);
    const double within = (part - std::floor(part)) * static_cast<double>(end - first);
    all.push_back({1 + first + static_cast<std::int64_t>(within),
                   static_cast<double>(between) / static_cast<double>(count)});
  }
  all.push_back({side - 1, 1});
  return all;
}

// The side that columns run along.
std::size_t deep_side(const std::array<std::int64_t, 3>& grid) { return grid[2] > 1 ? 2 : 1; }

std::uint64_t linear(const std::array<std::int64_t, 3>& at,
                     const std::array<std::int64_t, 3>& grid) {
  return static_cast<std::uint64_t>((at[2] * grid[1] + at[1]) * grid[0] + at[0]);
}

// The block at a place, or its whole column.
Sample sample_at(std::array<std::int64_t, 3> at, const std::array<std::int64_t, 3>& grid,
                 bool columns, double weight) {
  Sample one;
  one.weight = weight;
  if (!columns) {
    one.blocks = {linear(at, grid)};
    return one;
  }
  std::int64_t& deep = at[deep_side(grid)];
  for (deep = 0; deep < grid[deep_side(grid)]; ++deep) one.blocks.push_back(linear(at, grid));
  return one;
}

}  // namespace

std::vector<Sample> choose_samples(const std::array<std::int64_t, 3>& grid, bool columns) {
  std::array<std::vector<GridPlace>, 3> sides = {places(grid[0]), places(grid[1]), places(grid[2])};
  if (columns) sides[deep_side(grid)] = {{0, 1}};
  if (sides[1].size() == 1 && sides[2].size() == 1) sides[0] = spread(grid[0]);
  std::vector<Sample> samples;
  for (const GridPlace& z : sides[2]) {
    for (const GridPlace& y : sides[1]) {
      for (const GridPlace& x : sides[0]) {
        const bool middle = z.weight >= sides[2][0].weight && y.weight >= sides[1][0].weight &&
                            x.weight >= sides[0][0].weight;
        for (const GridPlace& plane : turned(z, middle && sides[2].size() == 2 ? grid[2] : 1)) {
          for (const GridPlace& row : turned(y, middle && sides[1].size() == 2 ? grid[1] : 1)) {
            samples.push_back(sample_at({x.at, row.at, plane.at}, grid, columns,
                                        x.weight * row.weight * plane.weight));
          }
        }
      }
    }
  }
  std::stable_sort(samples.begin(), samples.end(),
                   [](const Sample& a, const Sample& b) { return a.weight > b.weight; });
  return samples;
}

Sample witness_of(const std::array<std::int64_t, 3>& grid, bool columns, Rng rng) {
  return sample_at({rng.below(grid[0]), rng.below(grid[1]), rng.below(grid[2])}, grid, columns, 0);
}

}  // namespace cupilot
