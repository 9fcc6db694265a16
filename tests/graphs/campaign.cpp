// Puts honest and faulty kernels of chains of operators through the rules that prove a graph
// (docs/formats/numerics.md, Programs): honest ones must pass, of the faulty ones 95 % must not.
#include <chrono>
#include <fstream>
#include <map>
#include <set>

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <cupilot/parts/verification.hpp>

#include "evolution/evaluate/prove_whole.hpp"
#include "evolution/program/writer.hpp"
#include "graphs/chains.hpp"
#include "support/kept_images.hpp"
#include "support/sample.hpp"

namespace cupilot::graphs {
namespace {

struct Flags {
  std::string table = CUPILOT_SOURCE_DIR "/tests/graphs/chains.json";
  std::string out{}, only{};
  std::uint64_t seed = 1;
  bool honest_only = false;
};

struct Verdict {
  std::string rule{};  // that refused; "" where all passed, "error" where a machine failed
  std::string why{};
  double seconds = 0;
};

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

// A chain's kernels on the way of a program: each part as a task of its own, the parts on what they
// got, the whole on its battery and against honest executions.
class Way {
 public:
  Way(Backend& device, const Task& task, const std::vector<PartKernel>& parts, std::size_t suspect,
      bool all, std::uint64_t seed)
      : device_(device), task_(task), parts_(parts), suspect_(suspect), all_(all), seed_(seed) {}

  Verdict go() {
    const auto begin = std::chrono::steady_clock::now();
    try_rules();
    verdict_.seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    return verdict_;
  }

 private:
  // True if the way ends here.
  bool ends(const char* rule, const Result<std::optional<Rejected>>& refused) {
    if (!refused) {
      verdict_ = {"error", refused.error().message, 0};
      return true;
    }
    if (*refused) verdict_ = {rule, (*refused)->code + ": " + (*refused)->message, 0};
    return refused->has_value();
  }

  bool own_batteries(const char* rule, ProofLevel level) {
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      if (!all_ && i != suspect_) continue;  // the others are honest
      if (ends(rule, battery_refuses(device_, parts_[i].form.task, parts_[i].source, level, seed_)))
        return true;
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
    if (!kernel) return kernel.is_error() ? kernel.error() : Error{ErrorCode::failure, "", ""};
    auto proof = prove_whole(device_, TaskRef(task_), *kernel, seed_);
    if (!proof) return proof.error();
    return std::move(proof->refused);
  }

  void try_rules() {
    // Rule 3 comes first, so that it is known what it refuses alone.
    auto joined = join_parts(task_, parts_);
    if (!joined) {
      verdict_ = {"error", joined.error().message, 0};
      return;
    }
    if (ends("program", whole(*joined))) return;
    if (own_batteries("part alone", ProofLevel::candidate)) return;
    if (parts_.size() > 1 && ends("part in program", exposed())) return;
    if (ends("whole", battery_refuses(device_, task_, *joined, ProofLevel::candidate, seed_)))
      return;
    if (own_batteries("part alone, elite", ProofLevel::elite)) return;
    ends("whole, elite", battery_refuses(device_, task_, *joined, ProofLevel::elite, seed_));
  }

  Backend& device_;
  const Task& task_;
  const std::vector<PartKernel>& parts_;
  std::size_t suspect_;
  bool all_;
  std::uint64_t seed_;
  Verdict verdict_;
};

struct Tally {
  std::map<std::string, std::map<std::string, int>> by_kind{};  // kind -> rule -> count
  int honest = 0, honest_refused = 0, faulty = 0, missed = 0, broken = 0;

  void add(const Fault& fault, const Verdict& verdict) {
    ++by_kind[name_of(fault.kind)][verdict.rule.empty() ? "passed" : verdict.rule];
    if (verdict.rule == "error") ++broken;
    if (fault.kind == Kind::honest) {
      ++honest;
      honest_refused += verdict.rule.empty() ? 0 : 1;
    } else {
      ++faulty;
      missed += verdict.rule.empty() ? 1 : 0;
    }
  }
};

nlohmann::json row_of(const Chain& chain, const Fault& fault, const Verdict& verdict) {
  std::string step = chain.steps[fault.step].name;
  return {{"chain", chain.name},
          {"k", chain.k},
          {"fault", name_of(fault.kind)},
          {"step", fault.step},
          {"operator", step},
          {"refused_by", verdict.rule},
          {"why", verdict.why},
          {"seconds", std::round(verdict.seconds * 100) / 100}};
}

Result<void> judge_chain(Backend& device, const Chain& chain, const Flags& flags, Tally& tally,
                         nlohmann::json& rows) {
  const auto task = task_of(chain);
  if (!task) return task.error();
  std::vector<Fault> faults = {{}};
  if (!flags.honest_only) {
    const auto more = faults_of(chain);
    faults.insert(faults.end(), more.begin(), more.end());
  }
  for (const Fault& fault : faults) {
    const bool honest = fault.kind == Kind::honest;
    const std::string name = fmt::format("{} {} {}", chain.name, name_of(fault.kind), fault.step);
    if (!testing::is_drawn(name)) continue;
    const auto parts = kernels_of(chain, *task, fault, flags.seed);
    if (!parts) return parts.error();
    const std::size_t suspect = part_of(partition_of(chain), fault.step);
    const Verdict verdict = Way(device, *task, *parts, suspect, honest, flags.seed).go();
    tally.add(fault, verdict);
    rows.push_back(row_of(chain, fault, verdict));
    fmt::print("{:44} {:6.2f} s  {} {}\n", name, verdict.seconds,
               verdict.rule.empty() ? "passed" : verdict.rule, verdict.why);
    std::fflush(stdout);
  }
  return {};
}

int run(const Flags& flags) {
  const auto chains = read_chains(flags.table, flags.seed);
  if (!chains) return fmt::print(stderr, "{}\n", chains.error().message), 4;
  auto device = open_backend("virtual:h200", testing::kept_images());
  if (!device) return fmt::print(stderr, "{}\n", device.error().message), 4;
  Tally tally;
  nlohmann::json rows = nlohmann::json::array();
  for (const Chain& chain : *chains) {
    if (!flags.only.empty() && flags.only != chain.name) continue;
    if (auto done = judge_chain(**device, chain, flags, tally, rows); !done)
      return fmt::print(stderr, "{}: {}\n", chain.name, done.error().message), 4;
  }
  const double refused =
      tally.faulty == 0 ? 1.0 : 1.0 - static_cast<double>(tally.missed) / tally.faulty;
  fmt::print("{} honest, {} refused; {} faulty, {} missed: {:.1f} % refused\n", tally.honest,
             tally.honest_refused, tally.faulty, tally.missed, 100 * refused);
  if (!flags.out.empty()) {
    const nlohmann::json all = {{"seed", flags.seed},
                                {"honest", tally.honest},
                                {"honest_refused", tally.honest_refused},
                                {"faulty", tally.faulty},
                                {"missed", tally.missed},
                                {"by_kind", tally.by_kind},
                                {"rows", rows}};
    std::ofstream(flags.out) << all.dump(1) << "\n";
  }
  return tally.honest_refused == 0 && tally.broken == 0 && refused >= 0.95 ? 0 : 1;
}

}  // namespace
}  // namespace cupilot::graphs

int main(int argc, char** argv) {
  cupilot::graphs::Flags flags;
  CLI::App app("proves honest and faulty kernels of chains of operators");
  app.add_option("--table", flags.table);
  app.add_option("--out", flags.out, "writes all rows as JSON");
  app.add_option("--only", flags.only, "one chain");
  app.add_option("--seed", flags.seed);
  app.add_flag("--honest-only", flags.honest_only);
  CLI11_PARSE(app, argc, argv);
  return cupilot::graphs::run(flags);
}
