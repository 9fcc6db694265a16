// Puts honest and faulty kernels of graphs of operators through the rules that prove a graph
// (docs/formats/numerics.md, Programs): honest ones must pass, of the faulty ones 95 % must not.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <fstream>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include <tuple>

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <cupilot/rng.hpp>

#include "evolution/program/calibrate.hpp"
#include "graphs/recurrent.hpp"
#include "graphs/way.hpp"
#include "support/kept_images.hpp"
#include "support/sample.hpp"

namespace cupilot::graphs {
namespace {

struct Flags {
  std::string table = CUPILOT_SOURCE_DIR "/tests/graphs/chains.json";
  std::string lstm = CUPILOT_SOURCE_DIR "/examples/graph/lstm.json";
  std::string worker{}, out{}, summary{};
  std::vector<std::string> only{};
  std::uint64_t seed = 1, chain_seed = 1;
  int seeds = 1, jobs = 1, lstm_steps = 0, steps = 0;
  double seconds = 0;
  Precision precision = Precision::fp32_strict;
  bool honest_only = false, wrong_only = false, program_only = false, loops_in_full = false;
};

using Moment = std::chrono::steady_clock::time_point;
double since(Moment begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}
double to_hundredths(double value) { return std::round(value * 100) / 100; }

// A graph at a seed, with what its kernels share.
struct Seeded {
  const Subject* subject;
  std::uint64_t seed;
  std::shared_ptr<HonestMemory> honest;
};

// A kernel to judge: honest or with a fault.
struct Item {
  Seeded of;
  Fault fault;
  // True of what the contract's class allows; numbers of fp16 end early.
  bool honest() const {
    const Precision own = of.subject->task.precision;
    const bool halves = own == Precision::fp16, coarse = own == Precision::bf16;
    switch (fault.kind) {
      case Kind::honest:
        return true;
      case Kind::tf32:
        return own == Precision::tf32 || halves || coarse;
      case Kind::fp16:
        return halves;
      case Kind::bf16:
        return coarse;
      default:
        return false;  // intermediates are fp32 in every class
    }
  }
  std::string name() const {
    return fmt::format("{} {} {}", of.subject->name, name_of(fault.kind), fault.step);
  }
};

// Runs `work(i)` for all i below `count`, so many at a time; ends early after so many seconds.
// Returns how many were begun.
std::size_t spread(std::size_t count, int jobs, double seconds,
                   const std::function<void(std::size_t)>& work) {
  const auto begin = std::chrono::steady_clock::now();
  std::atomic<std::size_t> next = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < jobs; ++i)
    threads.emplace_back([&] {
      while (seconds <= 0 || since(begin) < seconds) {
        const std::size_t at = next++;
        if (at >= count) return;
        work(at);
      }
    });
  for (std::thread& thread : threads) thread.join();
  return std::min(count, next.load());
}

Verdict judge(Backend& device, const Item& item, const Flags& flags) {
  const Subject& subject = *item.of.subject;
  const auto parts = subject.kernels(item.fault, item.of.seed);
  if (!parts) return {"error", parts.error().message, 0, {}};
  const std::size_t suspect = part_of(subject.partition, item.fault.step);
  const bool loops = !subject.task.repeats.empty();
  return judged(device, subject.task, *parts, suspect, item.honest(), item.of.seed, *item.of.honest,
                {flags.program_only || (loops && !flags.loops_in_full)});
}

// The table's chains and the LSTM.
Result<std::vector<Subject>> subjects_of(const Flags& flags) {
  const auto chains = read_chains(flags.table, flags.chain_seed);
  if (!chains) return chains.error();
  std::vector<Subject> out;
  const auto add = [&](Result<Subject> made) -> Result<void> {
    if (!made) return made.error();
    made->task.precision = flags.precision;
    if (flags.only.empty() || std::count(flags.only.begin(), flags.only.end(), made->name) > 0)
      out.push_back(std::move(*made));
    return {};
  };
  if (flags.lstm_steps > 0) {
    if (auto added = add(lstm_subject(flags.lstm, flags.lstm_steps)); !added) return added.error();
  }
  for (const Chain& chain : *chains) {
    if (auto added = add(subject_of(chain)); !added) return added.error();
  }
  return out;
}

// The faults of a graph at a seed; so many steps drawn of each kind. `steps` 0: all.
std::vector<Fault> drawn_faults(const Subject& subject, std::uint64_t seed, int steps) {
  if (steps <= 0) return subject.faults;
  std::map<Kind, std::vector<Fault>> by_kind;
  for (const Fault& fault : subject.faults) by_kind[fault.kind].push_back(fault);
  std::vector<Fault> out;
  for (auto& [kind, faults] : by_kind) {
    Rng draw = Rng::of(seed, fmt::format("{} {}", subject.name, name_of(kind)));
    for (int i = 0; i < steps && !faults.empty(); ++i) {
      const auto at = static_cast<std::ptrdiff_t>(draw.below(faults.size()));
      out.push_back(faults[static_cast<std::size_t>(at)]);
      faults.erase(faults.begin() + at);
    }
  }
  return out;
}

// Honest kernels come before faulty ones, of each seed loops first, which take longest. Neighbours
// are of different graphs, so that few wait for the same honest executions.
std::vector<Item> items_of(Backend& device, const std::vector<Subject>& subjects,
                           const Flags& flags) {
  std::vector<Item> items;
  for (int i = 0; i < flags.seeds; ++i) {
    for (const Subject& subject : subjects) {
      const Seeded seeded{&subject, flags.seed + static_cast<std::uint64_t>(i),
                          std::make_shared<HonestMemory>(device, subject.task)};
      if (!flags.wrong_only) items.push_back({seeded, {}});
      for (const Fault& fault : drawn_faults(subject, seeded.seed, flags.steps)) {
        const Item item{seeded, fault};
        if (item.honest() ? !flags.wrong_only : !flags.honest_only) items.push_back(item);
      }
    }
  }
  std::erase_if(items, [](const Item& item) {
    return !testing::is_drawn(fmt::format("{} {}", item.name(), item.of.seed));
  });
  std::stable_sort(items.begin(), items.end(), [](const Item& a, const Item& b) {
    const auto rank = [](const Item& item) {
      const bool loops = !item.of.subject->task.repeats.empty();
      return std::tuple(!item.honest(), item.of.seed, !loops, item.fault.step,
                        static_cast<int>(item.fault.kind));
    };
    return rank(a) < rank(b);
  });
  return items;
}

// True if calibration says that the program's proof does not tell this class here.
bool is_unproved(const std::vector<std::string>& untold, const Task& task, const Fault& fault) {
  if (fault.kind == Kind::rounded_edge && task.precision != Precision::fp32_strict)
    return std::count(untold.begin(), untold.end(),
                      fmt::format("the result of {} in bf16", task.operations[fault.step].name)) >
           0;
  const char* lower = fault.kind == Kind::bf16                               ? "bf16"
                      : fault.kind == Kind::tf32 || fault.kind == Kind::fp16 ? "tf32 or fp16"
                                                                             : nullptr;
  if (lower == nullptr) return false;
  const std::string& name = task.operations[fault.step].name;
  return std::count(untold.begin(), untold.end(), fmt::format("{} in {}", name, lower)) > 0;
}

struct Count {
  int refused = 0, unproved = 0, accepted = 0, errors = 0;
  int all() const { return refused + unproved + accepted + errors; }
  nlohmann::json json() const {
    return {
        {"refused", refused}, {"unproved", unproved}, {"accepted", accepted}, {"errors", errors}};
  }
};

// Counts the verdicts on one graph, or on all.
struct Tally {
  int honest = 0, honest_refused = 0, honest_errors = 0;
  std::map<std::string, Count> wrong{};   // by kind
  std::map<std::string, int> by_rule{};   // wrong ones
  std::map<std::string, double> spent{};  // seconds of honest kernels by rule
  double seconds = 0;

  void add(const Item& item, const Verdict& verdict, bool unproved) {
    seconds += verdict.seconds;
    const bool error = verdict.rule == "error", passed = verdict.rule.empty();
    if (item.honest()) {
      ++honest;
      honest_errors += error ? 1 : 0;
      honest_refused += passed || error ? 0 : 1;
      for (const auto& [rule, one] : verdict.of_rules) spent[rule] += one;
      return;
    }
    Count& count = wrong[name_of(item.fault.kind)];
    ++(error ? count.errors : passed ? count.accepted : unproved ? count.unproved : count.refused);
    if (!passed && !error) ++by_rule[verdict.rule];
  }
  Count sum() const {
    Count out;
    for (const auto& [kind, one] : wrong) {
      out.refused += one.refused, out.unproved += one.unproved;
      out.accepted += one.accepted, out.errors += one.errors;
    }
    return out;
  }
  double share() const { return sum().all() == 0 ? 1.0 : 1.0 * sum().refused / sum().all(); }
  bool ok() const {
    return honest_refused == 0 && honest_errors == 0 && sum().errors == 0 && share() >= 0.95;
  }
  nlohmann::json json() const {
    nlohmann::json out = {{"honest", honest},
                          {"honest_refused", honest_refused},
                          {"honest_errors", honest_errors},
                          {"wrong_refused_percent", to_hundredths(100 * share())},
                          {"by_rule", by_rule},
                          {"seconds", to_hundredths(seconds)}};
    for (const auto& [kind, count] : wrong) out["wrong"][kind] = count.json();
    for (const auto& [rule, one] : spent) out["honest_seconds"][rule] = to_hundredths(one);
    return out;
  }
};

nlohmann::json row_of(const Item& item, const Verdict& verdict) {
  return {{"chain", item.of.subject->name},
          {"k", item.of.subject->k},
          {"seed", item.of.seed},
          {"fault", name_of(item.fault.kind)},
          {"step", item.fault.step},
          {"operator", item.of.subject->operators[item.fault.step]},
          {"refused_by", verdict.rule},
          {"why", verdict.why},
          {"seconds", to_hundredths(verdict.seconds)}};
}

// Judges all items and keeps what came out.
class Campaign {
 public:
  Campaign(Backend& device, const std::vector<Subject>& subjects, const Flags& flags)
      : device_(device), subjects_(subjects), flags_(flags) {}

  Result<void> run() {
    if (!flags_.honest_only) {
      if (auto done = calibrate(); !done) return done;
    }
    items_ = items_of(device_, subjects_, flags_);
    verdicts_.resize(items_.size());
    const double left = flags_.seconds > 0 ? std::max(1.0, flags_.seconds - since(begin_)) : 0;
    begun_ = spread(items_.size(), flags_.jobs, left, [this](std::size_t at) { work(at); });
    return {};
  }

  // The exit status.
  int tell() const {
    Tally all;
    std::map<const Subject*, Tally> tallies;
    nlohmann::json rows = nlohmann::json::array(), chains = nlohmann::json::array();
    for (std::size_t i = 0; i < begun_; ++i) {
      const Subject* subject = items_[i].of.subject;
      const auto untold = untold_.find(subject);
      const bool unproved =
          untold != untold_.end() && is_unproved(untold->second, subject->task, items_[i].fault);
      all.add(items_[i], verdicts_[i], unproved);
      tallies[subject].add(items_[i], verdicts_[i], unproved);
      rows.push_back(row_of(items_[i], verdicts_[i]));
    }
    for (const Subject& subject : subjects_) {
      nlohmann::json row = tallies[&subject].json();
      row["chain"] = subject.name, row["k"] = subject.k, row["operators"] = subject.operators;
      if (const auto untold = untold_.find(&subject); untold != untold_.end())
        row["calibration_unproved"] = untold->second;
      chains.push_back(std::move(row));
    }
    const Count sum = all.sum();
    fmt::print(
        "{} honest, {} refused, {} errors; {} faulty, {} refused, {} unproved, {} accepted, {} "
        "errors: {:.1f} % refused; {} not begun; {:.0f} s\n",
        all.honest, all.honest_refused, all.honest_errors, sum.all(), sum.refused, sum.unproved,
        sum.accepted, sum.errors, 100 * all.share(), items_.size() - begun_, since(begin_));
    nlohmann::json out = {{"seed", flags_.seed},
                          {"seeds", flags_.seeds},
                          {"chain_seed", flags_.chain_seed},
                          {"jobs", flags_.jobs},
                          {"steps_of_a_kind", flags_.steps},
                          {"not_begun", items_.size() - begun_},
                          {"wall_seconds", std::round(since(begin_))},
                          {"all", all.json()}};
    if (!flags_.out.empty()) {
      nlohmann::json full = out;
      full["rows"] = rows;
      std::ofstream(flags_.out) << full.dump(1) << "\n";
    }
    if (!flags_.summary.empty()) write_summary(out, chains);
    return all.ok() && begun_ == items_.size() ? 0 : 1;
  }

 private:
  // Once a graph: its content has a seed of its own.
  Result<void> calibrate() {
    std::optional<Error> failed;
    spread(subjects_.size(), flags_.jobs, 0, [&](std::size_t at) {
      const Subject& subject = subjects_[at];
      auto untold = untold_classes(device_, subject.task);
      const std::lock_guard lock(screen_);
      if (!untold)
        failed = std::move(untold.error()).while_doing("calibrating " + subject.name);
      else
        untold_[&subject] = std::move(*untold);
    });
    if (failed) return *failed;
    return {};
  }

  void work(std::size_t at) {
    Verdict verdict = judge(device_, items_[at], flags_);
    const std::lock_guard lock(screen_);
    fmt::print("{:44} seed {:2} {:6.2f} s  {} {}\n", items_[at].name(), items_[at].of.seed,
               verdict.seconds, verdict.rule.empty() ? "passed" : verdict.rule, verdict.why);
    std::fflush(stdout);
    verdicts_[at] = std::move(verdict);
  }

  // One line a graph.
  void write_summary(const nlohmann::json& head, const nlohmann::json& chains) const {
    std::string text = head.dump();
    text.pop_back();
    text += ",\n\"chains\":[\n";
    for (std::size_t i = 0; i < chains.size(); ++i)
      text += chains[i].dump() + (i + 1 < chains.size() ? ",\n" : "\n");
    std::ofstream(flags_.summary) << text << "]}\n";
  }

  const Moment begin_ = std::chrono::steady_clock::now();
  Backend& device_;
  const std::vector<Subject>& subjects_;
  const Flags& flags_;
  std::vector<Item> items_;
  std::vector<Verdict> verdicts_;
  std::size_t begun_ = 0;
  std::mutex screen_;  // guards untold_ as well
  std::map<const Subject*, std::vector<std::string>> untold_;
};

int run(const Flags& flags) {
  const auto subjects = subjects_of(flags);
  if (!subjects) return fmt::print(stderr, "{}\n", subjects.error().message), 4;
  BackendOptions options;
  options.worker_path = flags.worker;
  auto device = open_backend("virtual:h200", testing::kept_images(options));
  if (!device) return fmt::print(stderr, "{}\n", device.error().message), 4;
  Campaign campaign(**device, *subjects, flags);
  if (auto done = campaign.run(); !done) return fmt::print(stderr, "{}\n", done.error().message), 4;
  return campaign.tell();
}

}  // namespace
}  // namespace cupilot::graphs

int main(int argc, char** argv) {
  cupilot::graphs::Flags flags;
  CLI::App app("proves honest and faulty kernels of graphs of operators");
  app.add_option("--table", flags.table);
  app.add_option("--lstm", flags.lstm, "the task file of an LSTM");
  app.add_option("--lstm-steps", flags.lstm_steps, "of that LSTM; 0: without it");
  app.add_option("--worker", flags.worker, "the program cupilot-worker");
  app.add_option("--out", flags.out, "writes all rows as JSON");
  app.add_option("--summary", flags.summary, "writes a row a graph as JSON");
  app.add_option("--only", flags.only, "these graphs")->delimiter(',');
  app.add_option("--seed", flags.seed, "the first, of contents and of orders of sums");
  app.add_option("--seeds", flags.seeds, "so many, one after the other");
  app.add_option("--chain-seed", flags.chain_seed, "of the drawn chains");
  app.add_option("--jobs", flags.jobs, "kernels at a time");
  app.add_option("--seconds", flags.seconds, "begins no kernel after so many");
  std::string precision = "fp32-strict";
  app.add_option("--class", precision, "of all graphs: fp32-strict, tf32, fp16 or bf16");
  app.add_flag("--honest-only", flags.honest_only);
  app.add_flag("--wrong-only", flags.wrong_only);
  app.add_option("--steps", flags.steps, "so many drawn steps of each kind of fault; 0: all");
  app.add_flag("--program-only", flags.program_only, "holds the whole to honest executions only");
  app.add_flag("--loops-in-full", flags.loops_in_full,
               "puts loops through all rules, not that one");
  CLI11_PARSE(app, argc, argv);
  if (const auto known = cupilot::precision_from(precision)) flags.precision = *known;
  return cupilot::graphs::run(flags);
}
