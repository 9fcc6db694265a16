// Resident blocks of a kernel, by the rules of the CUDA occupancy calculator for compute
// capability 8.0 and later.
#include <algorithm>

#include <cupilot/parts/device.hpp>

namespace cupilot {
namespace {

constexpr int warp = 32;
constexpr int register_step = 8;    // a thread's registers are rounded up to this
constexpr int register_unit = 256;  // a warp's registers are given in units of this
constexpr int register_banks = 4;   // one file a scheduler: each holds whole warps
constexpr std::int64_t shared_unit = 128;
constexpr int registers_a_thread = 255;

constexpr std::int64_t up(std::int64_t value, std::int64_t step) {
  return (value + step - 1) / step * step;
}

int by_registers(const DeviceSpec& device, int warps, int registers) {
  if (registers > registers_a_thread) return 0;
  if (registers <= 0) return device.blocks_per_sm;
  const std::int64_t a_warp = up(up(registers, register_step) * warp, register_unit);
  return static_cast<int>(device.registers_per_sm / register_banks / a_warp * register_banks /
                          warps);
}

int by_shared(const DeviceSpec& device, std::int64_t bytes) {
  if (bytes < 0 || bytes > device.shared_per_block) return 0;
  const std::int64_t a_block = up(bytes + device.shared_reserved, shared_unit);
  return a_block > 0 ? static_cast<int>(device.shared_per_sm / a_block) : device.blocks_per_sm;
}

}  // namespace

Residency residency(const DeviceSpec& device, int threads, int registers,
                    std::int64_t shared_bytes) {
  Residency found;
  found.slots = device.blocks_per_sm;
  const int warps = static_cast<int>(up(std::max(threads, 1), warp)) / warp;
  const bool legal = threads >= 1 && threads <= device.threads_per_block;
  found.threads = legal ? device.threads_per_sm / warp / warps : 0;
  found.registers = by_registers(device, warps, registers);
  found.shared = by_shared(device, shared_bytes);
  found.blocks = std::min({found.threads, found.registers, found.shared, found.slots});
  found.limit = found.blocks == found.threads     ? "threads"
                : found.blocks == found.registers ? "registers"
                : found.blocks == found.shared    ? "shared"
                                                  : "slots";
  return found;
}

int resident_blocks(const DeviceSpec& device, int threads, int registers,
                    std::int64_t shared_bytes) {
  return residency(device, threads, registers, shared_bytes).blocks;
}

}  // namespace cupilot
