// Which runs prove a kernel.
#include <algorithm>
#include <cupilot/rng.hpp>
#include <cupilot/verification.hpp>

#include "verify/shapes.hpp"

namespace cupilot {
namespace {

// Padded multiply-adds (elements of the iteration space) a level may cost where every one is interpreted.
double interpreted_budget(ProofLevel level) {
  switch (level) {
    case ProofLevel::candidate:
      return 24e6;
    case ProofLevel::elite:
      return 60e6;
    default:
      return 120e6;
  }
}
constexpr double real_budget = 4e9;
// Taken whatever they cost.
constexpr std::size_t least_cases = 3;
// Above this many elements a full-size output is compared by draws.
constexpr std::int64_t compared_in_full = 1ll << 26;
constexpr std::int64_t drawn = 1ll << 22;

class Battery {
 public:
  Battery(const Task& task, const KernelSource& source, const DeviceSpec& device, ProofLevel level, std::uint64_t seed, bool real)
      : task_(task),
        source_(source),
        device_(device),
        level_(level),
        // A finalist meets content nobody saw before.
        seed_(level == ProofLevel::finalist ? Rng::of(seed, "finalist").next() : seed),
        real_(real),
        steps_(plan_steps(task, source, device)),
        budget_(real ? real_budget : interpreted_budget(level)) {}

  std::vector<Case> run() {
    const std::vector<Workload> boundary = boundary_shapes(task_, steps_);
    // Whole tiles first: most wrong kernels fail there. Then what reaches most paths for its cost.
    for (std::size_t i = 0; i < boundary.size(); ++i) {
      add(boundary[i], i == probed ? ContentKind::probe : ContentKind::ordinary);
      if (i != 3 && i + 1 != boundary.size()) continue;
      for (const Workload& shape : task_.check_shapes) add(shape, ContentKind::ordinary);
    }
    if (level_ != ProofLevel::candidate) special_contents(boundary);
    if (level_ == ProofLevel::finalist) repeats(boundary);
    if (real_) full_size();
    // Nothing fits: one shape says so.
    if (cases_.empty() && !boundary.empty()) cases_.push_back({.workload = boundary.front(), .content = {.seed = seed_}});
    return std::move(cases_);
  }

 private:
  static constexpr std::size_t probed = 1;

  // A shape beyond what is left of the budget is taken with its reduced axes cut to a slab and a tail, or not at all.
  void add(const Workload& wanted, ContentKind kind, std::uint64_t seed_offset = 0) {
    auto shape = fitting(task_, source_, device_, steps_, wanted);
    if (shape && padded_cost(task_, steps_, *shape) > budget_) {
      Workload flat = wanted;
      for (const Axis& axis : task_.axes) {
        std::int64_t& size = flat.sizes[axis.name];
        if (axis.kind == AxisKind::reduced) size = std::min(size, steps_.step(axis.name) + 1);
      }
      shape = fitting(task_, source_, device_, steps_, flat);
    }
    if (!shape) return;
    const double cost = padded_cost(task_, steps_, *shape);
    if (cost > budget_ && cases_.size() >= least_cases) return;
    const Case run{.workload = *shape, .content = {.seed = seed_ + seed_offset, .kind = kind}};
    const bool known = std::any_of(cases_.begin(), cases_.end(), [&](const Case& other) {
      return other.workload.sizes == run.workload.sizes && other.content == run.content;
    });
    if (known) return;
    budget_ -= cost;
    cases_.push_back(run);
  }

  void special_contents(const std::vector<Workload>& boundary) {
    const Workload& ragged = boundary[std::min<std::size_t>(1, boundary.size() - 1)];
    for (const ContentKind kind : {ContentKind::probe, ContentKind::special}) add(boundary.front(), kind);
    for (const ContentKind kind :
         {ContentKind::zeros, ContentKind::huge_element, ContentKind::alternating, ContentKind::special}) {
      add(ragged, kind);
    }
    // A raster group and its ragged end.
    if (steps_.group <= 1) return;
    Workload wide = boundary.front();
    for (const Axis& axis : task_.axes) {
      const std::int64_t step = steps_.step(axis.name);
      if (step > 1 && axis.kind == AxisKind::free) wide.sizes[axis.name] = step + 1;
      if (step > 1 && axis.kind == AxisKind::reduced) wide.sizes[axis.name] = step;
    }
    for (const Axis& axis : task_.axes) {
      const std::int64_t step = steps_.step(axis.name);
      if (step <= 1 || axis.kind != AxisKind::free) continue;
      Workload grouped = wide;
      grouped.sizes[axis.name] = step * steps_.group + 1;
      add(grouped, ContentKind::ordinary);
    }
  }

  void repeats(const std::vector<Workload>& boundary) {
    for (std::uint64_t round = 1; round <= 2; ++round) {
      for (const Workload& shape : boundary) add(shape, ContentKind::ordinary, round);
    }
    for (const Workload& shape : task_.time_shapes) {
      if (!real_) add(shrink(task_, source_, shape, device_, 2, static_cast<int>(steps_.stages) + 2), ContentKind::ordinary, 3);
    }
  }

  // The task's own shapes, in full. Reference values are kept by (task, content), so the seed is the same for all candidates.
  void full_size() {
    for (const Workload& shape : task_.time_shapes) {
      Case run{.workload = shape, .content = {.seed = seed_}};
      for (const Tensor& tensor : task_.tensors) {
        const auto numbers = shape_of(task_, tensor, shape);
        if (tensor.role == Role::out && numbers && numbers->elements > compared_in_full) run.compare = drawn;
      }
      cases_.push_back(run);
      if (level_ == ProofLevel::candidate) continue;
      run.content.kind = ContentKind::probe;
      cases_.push_back(run);
    }
  }

  const Task& task_;
  const KernelSource& source_;
  const DeviceSpec& device_;
  ProofLevel level_;
  std::uint64_t seed_;
  bool real_;
  PlanSteps steps_;
  double budget_;
  std::vector<Case> cases_;
};

}  // namespace

std::vector<Case> battery(const Task& task, const KernelSource& source, const DeviceSpec& device, ProofLevel level,
                          std::uint64_t seed, bool real_device) {
  return Battery(task, source, device, level, seed, real_device).run();
}

}  // namespace cupilot
