#include "ptx/machine/shared_layout.hpp"

#include <algorithm>

#include "ptx/machine/machine.hpp"

namespace cupilot::ptx {
namespace {

std::uint32_t offset(std::uint64_t address) {
  return static_cast<std::uint32_t>(address - shared_base);
}

// Multiples of 128 bytes, so that what is spread over banks, and for the widest what is aligned or
// swizzled by 1 KiB, lies as on a device. The first is wide enough for most strides that run past.
constexpr std::uint32_t gap_bytes[] = {1024, 128, 0};
constexpr std::uint32_t most_gaps =
    24 << 10;  // in all: a block's 227 KiB must stay where descriptors of wgmma reach, 256 KiB

SharedLayout with_gaps(const std::vector<const Variable*>& variables, std::uint32_t extern_align,
                       std::uint32_t gap, bool reserved) {
  SharedLayout out;
  out.reserved = reserved;
  std::uint64_t end = shared_base + (reserved ? reserved_bytes : 0), device_end = shared_base;
  const auto next = [&](std::uint64_t align) {
    device_end = aligned(device_end, align);
    std::uint64_t at = aligned(end, align);
    if (end != shared_base && gap != 0) {
      at = aligned(at + gap, align);
      out.gaps.push_back({offset(end), offset(at), static_cast<std::uint32_t>(at - device_end)});
    }
    return at;
  };
  for (const Variable* variable : variables) {
    out.address.push_back(next(std::max(variable->align, 1u)));
    end = out.address.back() + variable->bytes;
    device_end += variable->bytes;
  }
  out.here.variables = offset(end);
  out.device.variables = offset(device_end);
  out.here.dynamic_at = offset(next(extern_align));
  out.device.dynamic_at = offset(device_end);
  return out;
}

}  // namespace

SharedLayout shared_layout(const std::vector<const Variable*>& variables,
                           std::uint32_t extern_align, bool reserved) {
  SharedLayout out;
  for (const std::uint32_t gap : gap_bytes) {
    out = with_gaps(variables, extern_align, gap, reserved);
    if (out.here.dynamic_at - out.device.dynamic_at <= most_gaps) break;
  }
  return out;
}

}  // namespace cupilot::ptx
