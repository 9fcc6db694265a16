#include "roofline/rereads.hpp"

#include <algorithm>

namespace cupilot {
namespace {

constexpr double kept_share = 0.5;  // of L2, for lines that are read again

}  // namespace

double far_reread_bytes(const DeviceSpec& device, const ModelInput& input) {
  if (!(input.reread_bytes > 0 && input.reread_span > 0)) return 0;
  const auto blocks = static_cast<double>(std::max<std::int64_t>(1, input.blocks));
  const int fit = std::max(
      1, resident_blocks(device, input.threads_per_block, input.registers, input.shared_bytes));
  const double resident = std::min(blocks, static_cast<double>(fit) * device.sms);
  const double room = kept_share * static_cast<double>(device.l2_bytes);
  const double touched = resident * input.reread_span;
  return blocks * input.reread_bytes * std::max(0.0, 1 - room / touched);
}

}  // namespace cupilot
