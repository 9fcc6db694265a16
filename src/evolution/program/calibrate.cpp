#include "evolution/program/calibrate.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "backend/observed.hpp"
#include "evolution/evaluate/one_by_one.hpp"
#include "evolution/evaluate/prove_whole.hpp"

namespace cupilot {
namespace {

constexpr std::uint64_t calibration_seed = 1;

// Below fp32-strict classes lie near one another: an error that is refused by less than this may
// pass at another shape.
constexpr double sure_ratio = 2;

struct LowerClass {
  const char* name;
  int bits;  // of a fraction that factors keep
};
constexpr LowerClass classes[] = {{"tf32 or fp16", 10}, {"bf16", 7}, {"fp8", 3}};

// Those below the task's own class; of graphs in fp32-strict those that tensor cores take.
std::vector<LowerClass> lower_classes(const Task& task) {
  const int own = width_of(task.precision).bits;
  std::vector<LowerClass> out;
  for (const LowerClass& one : classes) {
    if (own == 0 ? one.bits > 3 : one.bits < own) out.push_back(one);
  }
  return out;
}

// True if a later operation reads what this one leaves, and the caller does not.
bool makes_edges(const Task& task, const Operation& operation) {
  return std::all_of(operation.outputs.begin(), operation.outputs.end(),
                     [&](const std::string& name) { return find_edge(task, name) != nullptr; });
}

// Runs a graph in lower classes and asks the whole's proof.
class Calibration {
 public:
  Calibration(ObservingDevice& device, const Task& task,
              const std::vector<HonestReference>& references)
      : task_(task), references_(references), executions_(device, task) {}

  Result<std::vector<std::string>> run() {
    if (auto cut = executions_.cut(); !cut) return cut.error();
    const bool strict = width_of(task_.precision).bits == 0;
    for (std::size_t i = 0; i < task_.operations.size(); ++i) {
      const Operation& operation = task_.operations[i];
      for (const LowerClass& one : lower_classes(task_)) {
        if (is_contraction(operation)) {
          auto done = ask(i, {.bits = one.bits}, fmt::format("{} in {}", operation.name, one.name));
          if (!done) return done.error();
        }
        if (strict || !makes_edges(task_, operation)) continue;
        auto done = ask(i, {.result_bits = one.bits},
                        fmt::format("the result of {} in {}", operation.name, one.name));
        if (!done) return done.error();
      }
    }
    return std::move(untold_);
  }

 private:
  // Keeps the words of a width that all references let pass, where nothing else rounds.
  Result<void> ask(std::size_t operation, const FactorWidth& width, std::string words) {
    std::vector<FactorWidth> widths(task_.operations.size());
    widths[operation] = width;
    WholeProof proof;
    for (const HonestReference& honest : references_) {
      if (proof.refused) break;
      const auto left =
          executions_.run(honest.what.workload, honest.inputs, widths, HonestOrder::blocks);
      if (!left) return left.error();
      if (left->empty()) continue;
      if (auto judged = judge_whole(task_, honest, *left, proof); !judged) return judged;
    }
    const bool sure = width_of(task_.precision).bits == 0 || proof.worst >= sure_ratio;
    if (!proof.refused || !sure) untold_.push_back(std::move(words));
    return {};
  }

  const Task& task_;
  const std::vector<HonestReference>& references_;
  OneByOne executions_;
  std::vector<std::string> untold_;
};

}  // namespace

Result<std::vector<std::string>> untold_classes(Backend& backend, const Task& task) {
  std::vector<std::string> untold;
  auto* device = dynamic_cast<ObservingDevice*>(&backend);
  if (device == nullptr || !is_proved_as_a_whole(task)) return untold;
  if (!task.repeats.empty()) return std::vector<std::string>{"lower classes within a loop"};
  std::vector<HonestReference> references;
  const TaskRef shared(task);
  for (const Case& what : cases_of_the_whole(task, {}, backend.device(), calibration_seed)) {
    auto honest = honest_reference(backend, shared, what);
    if (!honest) return honest.error();
    references.push_back(std::move(*honest));
  }
  return Calibration(*device, task, references).run();
}

}  // namespace cupilot
