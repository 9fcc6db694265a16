// Matrices of wgmma in shared memory: where a descriptor's elements lie, checks, and reading them.
#include <cstring>

#include <fmt/format.h>

#include "ptx/machine/memory.hpp"
#include "ptx/machine/wgmma/wgmma.hpp"

namespace cupilot::ptx {
namespace {

using u8 = std::uint8_t;
using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;

// Calls visit(row, k byte, address) of every 16-byte unit of `rows` rows from `first` on;
// transposed: (8 rows, k, address).
template <class Visit>
bool each_unit(const GroupMatrix& m, u32 first, u32 rows, Visit visit) {
  if (m.transposed) {
    for (u32 row = first; row < first + rows; row += 8) {
      for (u32 k = 0; k < m.bytes / 2; ++k) {
        if (!visit(row, k, m.address(row, k))) return false;
      }
    }
    return true;
  }
  for (u32 row = first; row < first + rows; ++row) {
    for (u32 byte = 0; byte < m.bytes; byte += 16) {
      if (!visit(row, byte, m.address(row, byte))) return false;
    }
  }
  return true;
}

template <class Element>
void gather(const Warp& w, const GroupMatrix& m, const Gathering& g, u32* out) {
  const u8* const shared = w.block->shared.data() - shared_base;
  each_unit(m, g.first, g.rows, [&](u32 row, u32 k, u32 address) {
    Element unit[16 / sizeof(Element)];
    std::memcpy(unit, shared + address, 16);
    u32* at =
        out + (row - g.first) * g.row_step + (m.transposed ? k : k / sizeof(Element)) * g.k_step;
    const u32 step = m.transposed ? g.row_step : g.k_step;
    for (const Element e : unit) {
      *at = e ^ g.negate;
      at += step;
    }
    return true;
  });
}

}  // namespace

std::uint32_t GroupMatrix::address(u32 row, u32 k) const {
  const u32 start = static_cast<u32>(descriptor & 0x3fff) << 4,
            leading = static_cast<u32>((descriptor >> 16) & 0x3fff) << 4,
            stride = static_cast<u32>((descriptor >> 32) & 0x3fff) << 4,
            base = static_cast<u32>((descriptor >> 49) & 7);
  constexpr u32 pitches[] = {16, 128, 64, 32}, swizzles[] = {0, 7, 3, 1};
  const auto layout = static_cast<u32>(descriptor >> 62);
  const u32 pitch = pitches[layout];
  u32 at = start;
  if (!transposed) {
    at += row / 8 * stride + row % 8 * pitch + (layout == 0 ? k / 16 * leading + k % 16 : k);
  } else if (layout == 0) {
    at += row / 8 * stride + k / 8 * leading + k % 8 * 16 + row % 8 * 2;
  } else {
    at += row / (pitch / 2) * leading + k / 8 * stride + k % 8 * pitch + row % (pitch / 2) * 2;
  }
  at &= 0x3ffff;
  return at ^ ((((at >> 7) - base) & swizzles[layout]) << 4);
}

bool check_matrix(Warp& w, const Step& s, const char* name, const GroupMatrix& m, u32 first,
                  u32 rows, u32 mark) {
  constexpr u64 zero_bits = 0x3ff1c000c000c000ull;
  if ((m.descriptor & zero_bits) != 0) {
    fault(w, s, 0, "run.misaligned",
          fmt::format("0x{:016x} is no descriptor of {}: bits 14-15, 30-31, 46-48 and 52-61 must "
                      "be zero (addresses and offsets "
                      "are in units of 16 bytes)",
                      m.descriptor, name));
    return false;
  }
  if (m.bytes > k_bytes && !m.transposed && m.descriptor >> 62 == 3) {
    fault(w, s, 0, "run.unsupported",
          "the rows of a sparse product's B are longer than a swizzle of 32 bytes: use 64 or 128");
    return false;
  }
  return each_unit(m, first, rows, [&](u32 row, u32, u32 address) {
    if (address >= shared_base && address - shared_base + 16 <= w.block->launch->shared_bytes)
      return check_async_read(w, s, 0, *w.block, address - shared_base, 16, mark);
    const std::string place = address >= shared_base
                                  ? place_name(*w.block, address - shared_base)
                                  : fmt::format("shared address {}, before all of it", address);
    fault(w, s, 0, "run.out_of_bounds",
          fmt::format("row {} of {} lies at {} (descriptor 0x{:016x}), but the block has {} bytes "
                      "of shared memory",
                      row, name, place, m.descriptor, w.block->launch->device_shared));
    return false;
  });
}

void gather_matrix(const Warp& w, const GroupMatrix& m, const Gathering& g, u32* out) {
  if (g.element_bits == 8) return gather<u8>(w, m, g, out);
  if (g.element_bits == 16) return gather<u16>(w, m, g, out);
  gather<u32>(w, m, g, out);
}

}  // namespace cupilot::ptx
