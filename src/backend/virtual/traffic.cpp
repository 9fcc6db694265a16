#include "backend/virtual/traffic.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "kernel/plan_arguments.hpp"
#include "roofline/rereads.hpp"

namespace cupilot {
namespace {

// Bytes of what a launch's arguments name, once each: everything it may read, and outputs and
// buffers it may write.
struct Unique {
  double read = 0, write = 0;
};

Result<void> add_bytes(const Task& task, const Workload& workload, const ResolvedPlan& plan,
                       const ResolvedArgument& argument, std::set<std::pair<bool, int>>& seen,
                       Unique& sum) {
  bool of_tensor = argument.kind == ResolvedArgument::Kind::tensor;
  int index = argument.index;
  if (argument.kind == ResolvedArgument::Kind::map) {
    const ResolvedMap& map = plan.maps[static_cast<std::size_t>(index)];
    of_tensor = !map.of_buffer;
    index = map.index;
  } else if (argument.kind == ResolvedArgument::Kind::texture) {
    const ResolvedTexture& texture = plan.textures[static_cast<std::size_t>(index)];
    of_tensor = !texture.of_buffer;
    index = texture.index;
  } else if (!of_tensor && argument.kind != ResolvedArgument::Kind::buffer) {
    return {};
  }
  if (!seen.insert({of_tensor, index}).second) return {};
  if (!of_tensor) {
    // Buffers live in L2 between the launches that fill and read them.
    sum.write += static_cast<double>(plan.buffers[static_cast<std::size_t>(index)].bytes);
    return {};
  }
  const Tensor& tensor = task.tensors[static_cast<std::size_t>(index)];
  Result<TensorShape> shape = shape_of(task, tensor, workload);
  if (!shape) return shape.error();
  const double bytes = static_cast<double>(shape->elements) * size_of(tensor.type);
  if (tensor.role != Role::out) sum.read += bytes;
  if (tensor.role == Role::out || tensor.role == Role::in_out) sum.write += bytes;
  return {};
}

Result<Unique> unique_bytes(const Task& task, const Workload& workload, const ResolvedPlan& plan,
                            const ResolvedLaunch& launch) {
  Unique sum;
  std::set<std::pair<bool, int>> seen;
  Result<void> done;
  each_value(launch.args, [&](const ResolvedArgument& argument) {
    if (done) done = add_bytes(task, workload, plan, argument, seen, sum);
  });
  if (!done) return done.error();
  return sum;
}

Count between(double low, double value, double high) {
  high = std::max(high, low);
  return {std::clamp(value, low, high), low, high, CountHow::estimated};
}

// Bytes of a launch's loads that the first level of caches leaves to L2.
double loads_of_l2(const Counts& counts) {
  const double asked =
      counts[Counter::global_load_sectors].value * 32;  // asynchronous copies among them
  const double passed =
      counts[Counter::l2_bytes].value - counts[Counter::global_store_sectors].value * 32;
  return passed > 0 ? std::min(passed, asked) : asked;
}

bool fits_l2(const DeviceSpec& device, const Unique& unique) {
  return unique.read <= 0.8 * static_cast<double>(device.l2_bytes);
}

}  // namespace

Result<double> readable_bytes(const Task& task, const Workload& workload, const ResolvedPlan& plan,
                              const ResolvedLaunch& launch) {
  const Result<Unique> unique = unique_bytes(task, workload, plan, launch);
  if (!unique) return unique.error();
  return unique->read;
}

Result<bool> rereads_beyond_l2(const DeviceSpec& device, const Task& task, const Workload& workload,
                               const ResolvedPlan& plan, const ResolvedLaunch& launch,
                               const Counts& counts) {
  const Result<Unique> unique = unique_bytes(task, workload, plan, launch);
  if (!unique) return unique.error();
  return !fits_l2(device, *unique) && loads_of_l2(counts) > 1.1 * unique->read;
}

Result<void> estimate_traffic(const DeviceSpec& device, const Task& task, const Workload& workload,
                              const ResolvedPlan& plan, std::vector<ModelInput>& launches) {
  std::size_t at = 0;
  for (const ResolvedLaunch& launch : plan.launches) {
    if (launch.when != When::run || at >= launches.size()) continue;
    ModelInput& input = launches[at++];
    Result<Unique> unique = unique_bytes(task, workload, plan, launch);
    if (!unique) return unique.error();
    Counts& counts = input.counts;
    const double asked = counts[Counter::global_load_sectors].value * 32;
    const double stores = counts[Counter::global_store_sectors].value * 32;
    const double loads = loads_of_l2(counts);
    const int resident = std::max(
        1, resident_blocks(device, input.threads_per_block, input.registers, input.shared_bytes));
    const double wave =
        std::min(static_cast<double>(input.blocks), static_cast<double>(resident) * device.sms);
    const double waves = std::ceil(static_cast<double>(input.blocks) / wave);
    const double read = std::min(unique->read, loads);
    const double reuse = std::min(loads / std::sqrt(wave), waves * read);
    const bool cached = fits_l2(device, *unique);
    const double again = read + std::min(far_reread_bytes(device, input), loads - read);
    const double atomics = counts[Counter::atomic_sectors].value * 32;
    const double l2 = loads + stores + atomics;
    counts[Counter::l2_bytes] =
        between(std::min(read, loads) + std::min(unique->write, stores), l2, l2 - loads + asked);
    counts[Counter::dram_read_bytes] = between(read, cached ? read : std::max(reuse, again), asked);
    // Bytes written last stay in L2 until others need the room.
    const double written = std::min(unique->write, stores);
    counts[Counter::dram_write_bytes] =
        between(std::max(0.0, written - static_cast<double>(device.l2_bytes)), written, stores);
    counts.source = CounterSource::interpreted;
  }
  return {};
}

}  // namespace cupilot
