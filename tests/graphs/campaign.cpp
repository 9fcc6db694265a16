// Puts honest and faulty kernels of chains of operators through the rules that prove a graph
// (docs/formats/numerics.md, Programs): honest ones must pass, of the faulty ones 95 % must not.
#include <atomic>
#include <chrono>
#include <fstream>
#include <map>
#include <mutex>
#include <set>
#include <thread>

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <cupilot/parts/verification.hpp>

#include "evolution/evaluate/prove_whole.hpp"
#include "evolution/program/writer.hpp"
#include "graphs/recurrent.hpp"
#include "support/kept_images.hpp"
#include "support/sample.hpp"

namespace cupilot::graphs {
namespace {

struct Flags {
  std::string table = CUPILOT_SOURCE_DIR "/tests/graphs/chains.json";
  std::string lstm = CUPILOT_SOURCE_DIR "/examples/graph/lstm.json";
  std::string out{}, only{};
  std::uint64_t seed = 1;
  int seeds = 1, jobs = 1;
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
    if (!kernel)
      return kernel.is_error() ? kernel.error()
                               : Error{ErrorCode::failure, kernel.rejected().message, ""};
    auto proof = prove_whole(device_, TaskRef(task_), *kernel, seed_);
    if (!proof) return proof.error();
    return std::move(proof->refused);
  }

  void try_rules() {
    // Rule 3 comes first, so that it is known what it refuses alone. Elites meet all that
    // candidates do, so an honest kernel meets it once.
    auto joined = join_parts(task_, parts_);
    if (!joined) {
      verdict_ = {"error", joined.error().message, 0};
      return;
    }
    if (ends("program", whole(*joined))) return;
    if (!all_ && own_batteries("part alone", ProofLevel::candidate)) return;
    if (parts_.size() > 1 && ends("part in program", exposed())) return;
    if (!all_ &&
        ends("whole", battery_refuses(device_, task_, *joined, ProofLevel::candidate, seed_)))
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

// A kernel to judge: a subject at a seed, with a fault.
struct Item {
  const Subject* subject;
  std::uint64_t seed;
  Fault fault;
  std::string name() const {
    return fmt::format("{} {} {}", subject->name, name_of(fault.kind), fault.step);
  }
};

nlohmann::json row_of(const Item& item, const Verdict& verdict) {
  return {{"chain", item.subject->name},
          {"k", item.subject->k},
          {"seed", item.seed},
          {"fault", name_of(item.fault.kind)},
          {"step", item.fault.step},
          {"operator", item.subject->operators[item.fault.step]},
          {"refused_by", verdict.rule},
          {"why", verdict.why},
          {"seconds", std::round(verdict.seconds * 100) / 100}};
}

Verdict judge(Backend& device, const Item& item) {
  const Subject& subject = *item.subject;
  const auto parts = subject.kernels(item.fault, item.seed);
  if (!parts) return {"error", parts.error().message, 0};
  const bool honest = item.fault.kind == Kind::honest;
  const std::size_t suspect = part_of(subject.partition, item.fault.step);
  return Way(device, subject.task, *parts, suspect, honest, item.seed).go();
}

// The table's chains and the LSTM, those drawn by a seed for each.
Result<std::vector<Subject>> subjects_of(const Flags& flags, std::uint64_t seed) {
  const auto chains = read_chains(flags.table, seed);
  if (!chains) return chains.error();
  std::vector<Subject> out;
  const auto add = [&](Result<Subject> made) -> Result<void> {
    if (!made) return made.error();
    if (flags.only.empty() || flags.only == made->name) out.push_back(std::move(*made));
    return {};
  };
  std::ifstream in(flags.table);
  const std::int64_t steps = nlohmann::json::parse(in).value("lstm_steps", 0);
  if (steps > 0) {
    if (auto added = add(lstm_subject(flags.lstm, steps)); !added) return added.error();
  }
  for (const Chain& chain : *chains) {
    if (auto added = add(subject_of(chain)); !added) return added.error();
  }
  return out;
}

// Honest kernels, which take longest, come first.
std::vector<Item> items_of(const std::vector<std::vector<Subject>>& subjects, const Flags& flags) {
  std::vector<Item> honest, faulty;
  for (std::size_t i = 0; i < subjects.size(); ++i) {
    const std::uint64_t seed = flags.seed + i;
    for (const Subject& subject : subjects[i]) {
      honest.push_back({&subject, seed, {}});
      for (const Fault& fault : subject.faults) faulty.push_back({&subject, seed, fault});
    }
  }
  if (!flags.honest_only) honest.insert(honest.end(), faulty.begin(), faulty.end());
  std::erase_if(honest, [](const Item& item) {
    return !testing::is_drawn(fmt::format("{} {}", item.name(), item.seed));
  });
  return honest;
}

// Judges all items, so many at a time.
class Campaign {
 public:
  Campaign(Backend& device, const std::vector<Item>& items) : device_(device), items_(items) {}

  void run(int jobs) {
    verdicts_.resize(items_.size());
    std::vector<std::thread> threads;
    for (int i = 0; i < jobs; ++i) threads.emplace_back([this] { work(); });
    for (std::thread& thread : threads) thread.join();
  }
  const std::vector<Verdict>& verdicts() const { return verdicts_; }

 private:
  void work() {
    for (std::size_t at = next_++; at < items_.size(); at = next_++) {
      verdicts_[at] = judge(device_, items_[at]);
      const std::lock_guard lock(screen_);
      fmt::print("{:44} seed {:2} {:6.2f} s  {} {}\n", items_[at].name(), items_[at].seed,
                 verdicts_[at].seconds, verdicts_[at].rule.empty() ? "passed" : verdicts_[at].rule,
                 verdicts_[at].why);
      std::fflush(stdout);
    }
  }

  Backend& device_;
  const std::vector<Item>& items_;
  std::vector<Verdict> verdicts_;
  std::atomic<std::size_t> next_ = 0;
  std::mutex screen_;
};

int told(const Flags& flags, const std::vector<Item>& items, const std::vector<Verdict>& verdicts) {
  Tally tally;
  nlohmann::json rows = nlohmann::json::array();
  for (std::size_t i = 0; i < items.size(); ++i) {
    tally.add(items[i].fault, verdicts[i]);
    rows.push_back(row_of(items[i], verdicts[i]));
  }
  const double refused =
      tally.faulty == 0 ? 1.0 : 1.0 - static_cast<double>(tally.missed) / tally.faulty;
  fmt::print("{} honest, {} refused; {} faulty, {} missed: {:.1f} % refused\n", tally.honest,
             tally.honest_refused, tally.faulty, tally.missed, 100 * refused);
  if (!flags.out.empty()) {
    const nlohmann::json all = {
        {"seed", flags.seed},       {"seeds", flags.seeds},
        {"honest", tally.honest},   {"honest_refused", tally.honest_refused},
        {"faulty", tally.faulty},   {"missed", tally.missed},
        {"by_kind", tally.by_kind}, {"rows", rows}};
    std::ofstream(flags.out) << all.dump(1) << "\n";
  }
  return tally.honest_refused == 0 && tally.broken == 0 && refused >= 0.95 ? 0 : 1;
}

int run(const Flags& flags) {
  std::vector<std::vector<Subject>> subjects;
  for (int i = 0; i < flags.seeds; ++i) {
    auto made = subjects_of(flags, flags.seed + static_cast<std::uint64_t>(i));
    if (!made) return fmt::print(stderr, "{}\n", made.error().message), 4;
    subjects.push_back(std::move(*made));
  }
  auto device = open_backend("virtual:h200", testing::kept_images());
  if (!device) return fmt::print(stderr, "{}\n", device.error().message), 4;
  const std::vector<Item> items = items_of(subjects, flags);
  Campaign campaign(**device, items);
  campaign.run(flags.jobs);
  return told(flags, items, campaign.verdicts());
}

}  // namespace
}  // namespace cupilot::graphs

int main(int argc, char** argv) {
  cupilot::graphs::Flags flags;
  CLI::App app("proves honest and faulty kernels of chains of operators");
  app.add_option("--table", flags.table);
  app.add_option("--out", flags.out, "writes all rows as JSON");
  app.add_option("--only", flags.only, "one chain");
  app.add_option("--seed", flags.seed, "the first");
  app.add_option("--seeds", flags.seeds, "so many, one after the other");
  app.add_option("--jobs", flags.jobs, "kernels at a time");
  app.add_flag("--honest-only", flags.honest_only);
  CLI11_PARSE(app, argc, argv);
  return cupilot::graphs::run(flags);
}
