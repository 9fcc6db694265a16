#include "ptx/machine/tensor_map.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <iterator>
#include <type_traits>

#include <fmt/format.h>

#include "ptx/syntax/module.hpp"

namespace cupilot::ptx {
namespace {

constexpr std::uint64_t magic = 0x70616d726f736e74ull;

// The contents of the 128 bytes.
struct Packed {
  std::uint64_t mark = magic;
  std::uint64_t address = 0;
  std::uint64_t pitch[4] = {};
  std::uint32_t last[5] = {};  // dims less one
  std::uint16_t box[5] = {};
  std::uint8_t step[5] = {};
  std::uint8_t rank = 0, type = 0, swizzle = 0, fill_nan = 0;
  std::uint8_t spare[33] = {};
  std::uint64_t sum = 0;
};
static_assert(sizeof(Packed) == tensor_map_bytes &&
              std::has_unique_object_representations_v<Packed>);  // summed byte by byte

std::uint64_t sum_of(const Packed& packed) {
  std::uint8_t bytes[sizeof(Packed)];
  std::memcpy(bytes, &packed, sizeof(bytes));
  return content_of({bytes, offsetof(Packed, sum)});
}

// The numbers of CUtensorMapDataType, which tensormap.replace takes. Those that round or flush what
// they load (f32.ftz, tf32, tf32.ftz) are not known here.
constexpr Type element_types[] = {Type::u8,  Type::u16, Type::u32,  Type::s32, Type::u64, Type::s64,
                                  Type::f16, Type::f32, Type::none, Type::f64, Type::bf16};

// The part of a map that a replaced field of a dimension is; empty: it is set.
std::string replace_side(Packed& packed, MapField field, std::uint32_t i, std::uint64_t value) {
  const std::uint32_t dimensions = field == MapField::global_stride ? 4 : 5;
  if (i >= dimensions) return fmt::format("dimension {} of {}", i, dimensions);
  switch (field) {
    case MapField::box_dim:
      if (value < 1 || value > 256) return fmt::format("a box of {} elements, not 1 to 256", value);
      packed.box[i] = static_cast<std::uint16_t>(value);
      return {};
    case MapField::element_stride:
      if (value < 1 || value > 8) return fmt::format("an element stride of {}, not 1 to 8", value);
      packed.step[i] = static_cast<std::uint8_t>(value);
      return {};
    case MapField::global_stride:
      if (value % 16 != 0 || value >= 1ull << 40)
        return fmt::format("a stride of {} bytes, no multiple of 16 below 2^40", value);
      packed.pitch[i] = value;
      return {};
    default:
      if (value == 0) return "a tensor of no elements";
      packed.last[i] = static_cast<std::uint32_t>(value - 1);
      return {};
  }
}

std::string replace_whole(Packed& packed, MapField field, std::uint64_t value) {
  switch (field) {
    case MapField::global_address:
      if (value % 16 != 0) return fmt::format("the address 0x{:x}, no multiple of 16", value);
      packed.address = value;
      return {};
    case MapField::rank:
      if (value > 4) return fmt::format("{} as its rank less one, not 0 to 4", value);
      packed.rank = static_cast<std::uint8_t>(value + 1);
      return {};
    case MapField::elemtype:
      if (value >= std::size(element_types) || element_types[value] == Type::none)
        return fmt::format("element type {}, which the virtual device lacks", value);
      packed.type = static_cast<std::uint8_t>(element_types[value]);
      return {};
    case MapField::interleave_layout:
      return value == 0 ? "" : "an interleaved layout, which the virtual device lacks";
    case MapField::swizzle_mode:
      if (value > 3) return fmt::format("swizzle mode {}, which the virtual device lacks", value);
      packed.swizzle = static_cast<std::uint8_t>(value == 0 ? 0 : 16u << value);
      return {};
    case MapField::fill_mode:
      if (value > 1) return fmt::format("fill mode {}, not 0 or 1", value);
      packed.fill_nan = static_cast<std::uint8_t>(value);
      return {};
    default:
      return "a swizzle atomicity, which no modelled chip has";
  }
}

}  // namespace

std::array<std::uint8_t, tensor_map_bytes> encode(const TensorMap& map) {
  Packed packed;
  packed.address = map.address;
  for (int i = 0; i < 4; ++i) packed.pitch[i] = map.pitch[i];
  for (int i = 0; i < 5; ++i) {
    packed.last[i] = static_cast<std::uint32_t>(map.dims[i] - 1);
    packed.box[i] = static_cast<std::uint16_t>(map.box[i]);
    packed.step[i] = static_cast<std::uint8_t>(map.step[i]);
  }
  packed.rank = static_cast<std::uint8_t>(map.rank);
  packed.type = static_cast<std::uint8_t>(map.type);
  packed.swizzle = static_cast<std::uint8_t>(map.swizzle);
  packed.fill_nan = map.fill_nan ? 1 : 0;
  packed.sum = sum_of(packed);
  std::array<std::uint8_t, tensor_map_bytes> out{};
  std::memcpy(out.data(), &packed, sizeof(packed));
  return out;
}

std::optional<TensorMap> decode_map(std::span<const std::uint8_t> bytes) {
  Packed packed;
  if (bytes.size() < sizeof(packed)) return std::nullopt;
  std::memcpy(&packed, bytes.data(), sizeof(packed));
  if (packed.mark != magic || packed.sum != sum_of(packed) || packed.rank < 1 || packed.rank > 5)
    return std::nullopt;
  TensorMap map;
  map.address = packed.address;
  map.rank = packed.rank;
  map.type = static_cast<Type>(packed.type);
  map.swizzle = packed.swizzle;
  map.fill_nan = packed.fill_nan != 0;
  for (int i = 0; i < 4; ++i) map.pitch[i] = packed.pitch[i];
  for (int i = 0; i < 5; ++i) {
    map.dims[i] = std::uint64_t{packed.last[i]} + 1;
    map.box[i] = packed.box[i];
    map.step[i] = packed.step[i];
    if (map.box[i] < 1 || map.box[i] > 256 || map.step[i] < 1 || map.step[i] > 8)
      return std::nullopt;
  }
  if (packed.type > static_cast<std::uint8_t>(Type::s4) || bytes_of(map.type) == 0)
    return std::nullopt;
  return map;
}

std::uint64_t content_of(std::span<const std::uint8_t> bytes) {
  std::uint64_t out = 0xcbf29ce484222325ull;
  for (const std::uint8_t byte : bytes) out = (out ^ byte) * 0x100000001b3ull;
  return out;
}

std::string replace_field(std::span<std::uint8_t> bytes, MapField field, std::uint32_t ordinal,
                          std::uint64_t value) {
  Packed packed;
  if (bytes.size() < sizeof(packed)) return "no tensor map";
  std::memcpy(&packed, bytes.data(), sizeof(packed));
  if (packed.mark != magic || packed.sum != sum_of(packed)) return "no tensor map";
  const bool side = field >= MapField::box_dim && field <= MapField::element_stride;
  std::string why =
      side ? replace_side(packed, field, ordinal, value) : replace_whole(packed, field, value);
  if (!why.empty()) return why;
  packed.sum = sum_of(packed);
  std::memcpy(bytes.data(), &packed, sizeof(packed));
  return why;
}

std::uint32_t element_bytes(const TensorMap& map) { return bytes_of(map.type); }
std::uint32_t row_bytes(const TensorMap& map) { return map.box[0] * bytes_of(map.type); }

std::uint32_t tile_rows(const TensorMap& map) {
  std::uint32_t rows = 1;
  for (std::uint32_t i = 1; i < map.rank; ++i) rows *= side(map, i);
  return rows;
}

// At most 256 to the fifth of 8 bytes would pass 32 bits; no tile larger than shared memory is ever
// moved.
std::uint32_t tile_bytes(const TensorMap& map) {
  std::uint64_t bytes = element_bytes(map);
  for (std::uint32_t i = 0; i < map.rank; ++i) bytes *= side(map, i);
  return bytes > 0x7fffffffu ? 0x7fffffffu : static_cast<std::uint32_t>(bytes);
}

TileRow tile_row(const TensorMap& map, const std::array<std::int32_t, 5>& at, std::uint32_t row) {
  const std::uint32_t wide = element_bytes(map);
  TileRow out;
  std::uint64_t address = map.address;
  bool inside = true;
  for (std::uint32_t i = 1; i < map.rank; ++i) {
    const std::int64_t c = at[i] + std::int64_t{row % side(map, i)} * map.step[i];
    row /= side(map, i);
    inside = inside && c >= 0 && static_cast<std::uint64_t>(c) < map.dims[i];
    address += static_cast<std::uint64_t>(c) * map.pitch[i - 1];
  }
  if (!inside) return out;
  const std::int64_t start = at[0], first = std::max<std::int64_t>(0, -start);
  const std::int64_t past =
      std::min<std::int64_t>(map.box[0], static_cast<std::int64_t>(map.dims[0]) - start);
  if (past <= first) return out;
  out.first = static_cast<std::uint32_t>(first);
  out.count = static_cast<std::uint32_t>(past - first);
  out.address = address + static_cast<std::uint64_t>(start + first) * wide;
  return out;
}

}  // namespace cupilot::ptx
