#include "graphs/way.hpp"

#include <chrono>

#include <fmt/format.h>

#include <cupilot/parts/verification.hpp>

#include "evolution/program/writer.hpp"

namespace cupilot::graphs {
namespace {

// One kernel on the battery of its task.
Result<std::optional<Rejected>> battery_refuses(Backend& device, const Task& task,
                                                const KernelSource& source, ProofLevel level,
                                                std::uint64_t seed) {
  const auto kernel = device.compile(source);
  if (kernel.is_error()) return kernel.error();
  if (kernel.is_rejected()) return std::optional(kernel.rejected());
  const auto cases = battery(task, source, device.device(), level, seed, false);
  const auto report = device.run(TaskRef(task), *kernel, cases);
  if (!report) return report.error();
  const auto concluded = conclude(task, *kernel, level, *report);
  if (concluded.is_error()) return concluded.error();
  return concluded.is_rejected() ? std::optional(concluded.rejected()) : std::nullopt;
}

class Way {
 public:
  Way(Backend& device, const Task& task, const std::vector<PartKernel>& parts, std::size_t suspect,
      bool all, std::uint64_t seed, HonestMemory& honest)
      : device_(device),
        task_(task),
        parts_(parts),
        suspect_(suspect),
        all_(all),
        seed_(seed),
        honest_(honest) {}

  Verdict go(const Rules& rules) {
    const auto begin = std::chrono::steady_clock::now();
    try_rules(rules);
    verdict_.seconds = since(begin);
    return verdict_;
  }

 private:
  using Moment = std::chrono::steady_clock::time_point;
  static double since(Moment begin) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  }

  // True if the way ends here.
  template <typename Rule>
  bool ends(const char* name, Rule rule) {
    const auto begin = std::chrono::steady_clock::now();
    const Result<std::optional<Rejected>> refused = rule();
    verdict_.of_rules[name] += since(begin);
    if (!refused) {
      verdict_.rule = "error", verdict_.why = refused.error().message;
      return true;
    }
    if (*refused)
      verdict_.rule = name, verdict_.why = (*refused)->code + ": " + (*refused)->message;
    return refused->has_value();
  }

  bool own_batteries(const char* rule, ProofLevel level) {
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      if (!all_ && i != suspect_) continue;  // the others are honest
      const PartKernel& part = parts_[i];
      const auto refuses = [&] {
        return battery_refuses(device_, part.form.task, part.source, level, seed_);
      };
      if (ends(rule, refuses)) return true;
    }
    return false;
  }

  Result<std::optional<Rejected>> exposed() {
    auto task = exposed_task(task_, handed_over(parts_));
    if (!task) return task.error();
    auto source = join_parts(*task, parts_);
    if (!source) return source.error();
    return prove_exposed(device_, TaskRef(std::move(*task)), parts_, *source, ProofLevel::candidate,
                         seed_);
  }

  Result<std::optional<Rejected>> whole(const KernelSource& source) {
    const auto kernel = device_.compile(source);
    if (!kernel)
      return kernel.is_error() ? kernel.error()
                               : Error{ErrorCode::failure, kernel.rejected().message, ""};
    auto proof = prove_whole(device_, TaskRef(task_), *kernel, seed_,
                             [this](const Case& what) { return honest_.of(what); });
    if (!proof) return proof.error();
    if (proof->outputs == 0 && !proof->refused)
      return Error{ErrorCode::failure, "nothing of the whole was judged", ""};
    return std::move(proof->refused);
  }

  void try_rules(const Rules& rules) {
    // Rule 3 comes first, so that it is known what it refuses alone. Elites meet all that
    // candidates do, so an honest kernel meets it once.
    auto joined = join_parts(task_, parts_);
    if (!joined) {
      verdict_.rule = "error", verdict_.why = joined.error().message;
      return;
    }
    const auto of_whole = [&](ProofLevel level) {
      return [&, level] { return battery_refuses(device_, task_, *joined, level, seed_); };
    };
    if (ends("program", [&] { return whole(*joined); }) || rules.program_only) return;
    if (!all_ && own_batteries("part alone", ProofLevel::candidate)) return;
    if (parts_.size() > 1 && ends("part in program", [&] { return exposed(); })) return;
    if (!all_ && ends("whole", of_whole(ProofLevel::candidate))) return;
    if (own_batteries("part alone, elite", ProofLevel::elite)) return;
    ends("whole, elite", of_whole(ProofLevel::elite));
  }

  Backend& device_;
  const Task& task_;
  const std::vector<PartKernel>& parts_;
  std::size_t suspect_;
  bool all_;
  std::uint64_t seed_;
  HonestMemory& honest_;
  Verdict verdict_;
};

}  // namespace

Result<std::shared_ptr<const HonestReference>> HonestMemory::of(const Case& what) {
  std::string key = fmt::format("{} {}", what.content.seed, static_cast<int>(what.content.kind));
  for (const auto& [axis, size] : what.workload.sizes) key += fmt::format(" {}={}", axis, size);
  std::shared_ptr<Known> known;
  {
    const std::lock_guard lock(mutex_);
    auto& place = known_[key];
    if (place == nullptr) place = std::make_shared<Known>();
    known = place;
  }
  const std::lock_guard lock(known->busy);
  if (known->reference == nullptr) {
    auto made = honest_reference(device_, task_, what);
    if (!made) return made.error();
    known->reference = std::make_shared<const HonestReference>(std::move(*made));
  }
  return known->reference;
}

Verdict judged(Backend& device, const Task& task, const std::vector<PartKernel>& parts,
               std::size_t suspect, bool all, std::uint64_t seed, HonestMemory& honest,
               const Rules& rules) {
  return Way(device, task, parts, suspect, all, seed, honest).go(rules);
}

}  // namespace cupilot::graphs
