// Resident blocks of a kernel, by the rules of the CUDA occupancy calculator for compute capability 8.0 and later.
#include <algorithm>

#include <cupilot/device.hpp>

namespace cupilot {
namespace {

constexpr int warp = 32;
constexpr int register_step = 8;    // a thread's registers are rounded up to this
constexpr int register_unit = 256;  // a warp's registers are given in units of this
constexpr int register_banks = 4;   // one file a scheduler: each holds whole warps
constexpr std::int64_t shared_unit = 128;
constexpr int registers_a_thread = 255;

constexpr std::int64_t up(std::int64_t value, std::int64_t step) { return (value + step - 1) / step * step; }

}  // namespace

int resident_blocks(const DeviceSpec& device, int threads, int registers, std::int64_t shared_bytes) {
  if (threads < 1 || threads > device.threads_per_block || registers > registers_a_thread) return 0;
  if (shared_bytes < 0 || shared_bytes > device.shared_per_block) return 0;
  const int warps = static_cast<int>(up(threads, warp)) / warp;
  std::int64_t blocks = std::min(device.blocks_per_sm, device.threads_per_sm / warp / warps);
  if (registers > 0) {
    const std::int64_t a_warp = up(up(registers, register_step) * warp, register_unit);
    const std::int64_t warps_that_fit = device.registers_per_sm / register_banks / a_warp * register_banks;
    blocks = std::min(blocks, warps_that_fit / warps);
  }
  const std::int64_t a_block = up(shared_bytes + device.shared_reserved, shared_unit);
  if (a_block > 0) blocks = std::min(blocks, device.shared_per_sm / a_block);
  return static_cast<int>(blocks);
}

}  // namespace cupilot
