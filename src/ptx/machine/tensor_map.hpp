// Tensor maps as the virtual device knows them: what cuTensorMapEncodeTiled takes, kept readable in
// the same 128 bytes.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "ptx/syntax/type.hpp"

namespace cupilot::ptx {

// A tiled map. Dimension 0 is the contiguous one; pitches are in bytes, of dimensions 1 on.
struct TensorMap {
  std::uint64_t address = 0;
  Type type = Type::none;  // of an element
  std::uint32_t rank = 0;  // 1 to 5
  std::array<std::uint64_t, 5> dims{1, 1, 1, 1, 1};
  std::array<std::uint64_t, 4> pitch{};
  std::array<std::uint32_t, 5> box{1, 1, 1, 1, 1};  // elements of the tensor that a tile spans
  std::array<std::uint32_t, 5> step{
      1, 1, 1, 1, 1};         // of which every so manieth is taken; dimension 0 takes all
  std::uint32_t swizzle = 0;  // bytes of the pattern: 0, 32, 64 or 128
  bool fill_nan = false;      // elements outside the tensor read as NaN, not zero
};

inline constexpr std::size_t tensor_map_bytes = 128;
std::array<std::uint8_t, tensor_map_bytes> encode(const TensorMap& map);
// Nothing when the bytes are no map that encode made.
std::optional<TensorMap> decode_map(std::span<const std::uint8_t> bytes);

// A number that tells the contents of a map's bytes apart, whatever they hold.
std::uint64_t content_of(std::span<const std::uint8_t> bytes);

// The fields that tensormap.replace changes; those of dimensions name one by an ordinal.
enum class MapField : std::uint8_t {
  global_address,
  rank,
  box_dim,
  global_dim,
  global_stride,
  element_stride,
  elemtype,
  interleave_layout,
  swizzle_mode,
  fill_mode,
  swizzle_atomicity,
};
// Changes a field of an encoded map as the instruction says. Not empty: why it cannot be, and
// nothing is changed.
std::string replace_field(std::span<std::uint8_t> bytes, MapField field, std::uint32_t ordinal,
                          std::uint64_t value);

// Elements of a tile along dimension i.
inline std::uint32_t side(const TensorMap& map, std::uint32_t i) {
  return i == 0 ? map.box[0] : (map.box[i] + map.step[i] - 1) / map.step[i];
}
std::uint32_t element_bytes(const TensorMap& map);
std::uint32_t tile_bytes(const TensorMap& map);
std::uint32_t row_bytes(const TensorMap& map);
// From row to row in shared memory: a swizzled row takes the whole pattern, however short it is
// (seen on an H200).
inline std::uint32_t row_pitch(const TensorMap& map) {
  return map.swizzle != 0 ? map.swizzle : row_bytes(map);
}

// A row of a tile along dimension 0.
struct TileRow {
  std::uint32_t first = 0, count = 0;  // elements inside the tensor
  std::uint64_t address = 0;           // of element `first`
};
// Bytes of the row that a store writes: on an H200 whole units of 16, past the last element if need
// be.
inline std::uint32_t stored_bytes(const TensorMap& map, const TileRow& row) {
  return row.count == 0 ? 0 : (row.count * element_bytes(map) + 15) / 16 * 16;
}
// The row-th row of the tile whose first element has the coordinates `at`.
TileRow tile_row(const TensorMap& map, const std::array<std::int32_t, 5>& at, std::uint32_t row);
std::uint32_t tile_rows(const TensorMap& map);

// Returns the place of the byte at a shared address once the pattern is applied: 16-byte units are
// exchanged within 128 bytes.
inline std::uint64_t swizzled(std::uint64_t address, std::uint32_t swizzle) {
  const std::uint64_t units = swizzle == 0 ? 0 : swizzle / 16 - 1;
  return address ^ ((address >> 3) & (units << 4));
}

}  // namespace cupilot::ptx
