#include "predict/access.hpp"

#include <algorithm>

namespace cupilot {
namespace {

template <class Address>
LaneAddresses lanes(Address address) {
  LaneAddresses all{};
  for (int lane = 0; lane < 32; ++lane) all[static_cast<std::size_t>(lane)] = address(lane);
  return all;
}

bool loads_in_pairs(const LaneAddresses& address) {
  for (const std::size_t apart : {1U, 2U}) {
    bool alike = true;
    for (std::size_t lane = 0; lane < 32 && alike; ++lane)
      alike = address[lane] == address[lane ^ apart];
    if (alike) return true;
  }
  return false;
}

// Of lanes [begin, end): the most different words of one bank.
int deepest_bank(const LaneAddresses& address, std::size_t begin, std::size_t end, int words) {
  std::array<std::array<int, 32>, 32> held{};
  std::array<int, 32> depth{};
  int deepest = 0;
  for (std::size_t lane = begin; lane < end; ++lane) {
    for (int w = 0; w < words; ++w) {
      const int word = address[lane] / 4 + w;
      const auto bank = static_cast<std::size_t>(word % 32);
      const auto first = held[bank].begin(), last = first + depth[bank];
      if (std::find(first, last, word) != last || depth[bank] == 32) continue;
      held[bank][static_cast<std::size_t>(depth[bank]++)] = word;
      deepest = std::max(deepest, depth[bank]);
    }
  }
  return deepest;
}

// Where an element of a gemm_mma slab lies, in bytes: its 16-byte units permuted by a key of the
// line where swizzled.
int mma_place(const Side& side, int o, int k) {
  const int line = side.across(o, k), byte = side.along(o, k) * side.bytes;
  const int pitch = (side.line() + side.pad) * side.bytes;
  const int units = side.line() * side.bytes / 16;
  if (!side.swizzle || units == 0) return line * pitch + byte;
  const int keys = std::min(8, units & -units);
  const int key = !side.k_fast && side.bytes == 4 ? line * 2 % keys : line / (8 / keys) % keys;
  return line * pitch + ((byte / 16 ^ key) * 16 | byte % 16);
}

// Single words, or two halves each, at the (o, k) that a lane names.
template <class Outer, class Depth>
void add_words(FragmentReads& reads, const Side& side, Outer outer, Depth depth) {
  const bool halves = !side.k_fast && side.bytes == 2;
  for (int half = 0; half < (halves ? 2 : 1); ++half) {
    reads.passes += bank_passes(
        lanes([&](int l) { return mma_place(side, outer(l), depth(l) + half); }), 4, true);
    ++reads.loads;
  }
  reads.halves = halves;
}

bool by_matrix(const Side& side, bool matrices) {
  return matrices && (side.k_fast || side.bytes == 2);
}

}  // namespace

double bank_passes(const LaneAddresses& address, int bytes, bool load) {
  std::size_t group = bytes <= 4 ? 32 : bytes == 8 ? 16 : 8;
  if (load && bytes >= 8 && loads_in_pairs(address)) group *= 2;
  int passes = 0;
  for (std::size_t begin = 0; begin < 32; begin += group)
    passes += deepest_bank(address, begin, std::min<std::size_t>(32, begin + group),
                           std::max(1, bytes / 4));
  return passes;
}

double copy_requests(const Side& side) {
  return static_cast<double>(side.outer) * side.depth / side.width / 32;
}

double copy_sectors(const Side& side) {
  const int per_line = std::max(1, side.line() / side.width);
  const int lines = per_line < 32 ? 32 / per_line : 1;
  const int run = std::min(32, per_line) * side.width * side.bytes;
  return static_cast<double>(lines) * std::max(1, (run + 31) / 32);
}

double mma_copy_passes(const Side& side) {
  const int per_line = std::max(1, side.line() / side.width);
  const auto address = lanes([&](int l) {
    const int line = l / per_line, along = l % per_line * side.width;
    return side.k_fast ? mma_place(side, line, along) : mma_place(side, along, line);
  });
  return bank_passes(address, side.width * side.bytes, false);
}

FragmentReads mma_rows(const Side& side, bool matrices) {
  const int half = 16 / side.bytes, word = 4 / side.bytes;
  FragmentReads reads;
  if (by_matrix(side, matrices)) {
    const auto address = lanes([&](int l) {
      return side.k_fast ? mma_place(side, l % 16, l / 16 * half)
                         : mma_place(side, l / 8 % 2 * 8, l % 8 + l / 16 * 8);
    });
    return {bank_passes(address, 16, false), 1, false};
  }
  for (int r = 0; r < 4; ++r)
    add_words(
        reads, side, [&](int l) { return l / 4 + r % 2 * 8; },
        [&](int l) { return l % 4 * word + r / 2 * half; });
  return reads;
}

FragmentReads mma_columns(const Side& side, bool matrices) {
  const int half = 16 / side.bytes, word = 4 / side.bytes;
  FragmentReads reads;
  if (by_matrix(side, matrices)) {
    const auto address = lanes([&](int l) {
      return side.k_fast ? mma_place(side, l % 8 + l / 16 * 8, l / 8 % 2 * half)
                         : mma_place(side, l / 16 * 8, l % 16);
    });
    return {bank_passes(address, 16, false), 1, false};
  }
  for (int r = 0; r < 2; ++r) {
    for (const int part : {0, 8})
      add_words(
          reads, side, [&](int l) { return l / 4 + part; },
          [&](int l) { return l % 4 * word + r * half; });
  }
  return reads;
}

double simt_copy_passes(const Side& side, int threads, bool permuted, int piece, bool async) {
  const int per_line = std::max(1, side.line() / side.width), pitch = side.outer + side.pad;
  const bool turned = permuted && side.k_fast && side.width == 1 && piece == 4 && side.depth > 8 &&
                      side.depth <= 32 && threads % per_line == 0 && threads / per_line % 4 == 0;
  const auto at = [&](int element) {
    return lanes([&](int l) {
      const int line = l / per_line, along = l % per_line * side.width;
      const int o = side.k_fast ? line : along, k = side.k_fast ? along : line;
      const int key = turned ? k / 8 * (32 / side.depth) % 4 : 0;
      return 4 *
             ((k + (side.k_fast ? element : 0)) * pitch + (o ^ key) + (side.k_fast ? 0 : element));
    });
  };
  if (async) return bank_passes(at(0), 4 * side.width, false);
  const int step = side.k_fast ? 1 : std::min(side.width, 4);
  double passes = 0;
  for (int element = 0; element < side.width; element += step)
    passes += bank_passes(at(element), 4 * step, false);
  return passes;
}

FragmentReads simt_reads(int tile, int lanes_n, bool rows) {
  const int width = std::min(tile, 4), pieces = tile / width;
  const auto address = lanes([&](int l) { return 4 * width * (rows ? l / lanes_n : l % lanes_n); });
  return {pieces * bank_passes(address, 4 * width, true), static_cast<double>(pieces), false};
}

}  // namespace cupilot
