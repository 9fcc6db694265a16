// How many evaluations a search of a user's tunable takes to come near the optimum of an exhaustive
// one. usage: tuning_quality TASK.json TUNABLE.cu RECORDING [SEEDS [OUTPUT.json]] RECORDING: made
// by `cupilot record TASK.json --tunable TUNABLE.cu --all --out RECORDING`.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

#include <cupilot/backend.hpp>
#include <cupilot/evolve.hpp>

namespace {

using namespace cupilot;

constexpr double within = 1.03;  // of the optimum's time
constexpr double share = 0.10;   // of the exhaustive evaluations is a search's budget

struct Exhaustive {
  std::int64_t evaluations = 0, near = 0;  // all; within the goal
  double best_us = 0;
};

// Of the recording's table: the last but one column is the time.
Exhaustive read_table(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  std::vector<double> times;
  Exhaustive all;
  while (std::getline(file, line)) {
    ++all.evaluations;
    const std::size_t end = line.rfind(','), begin = line.rfind(',', end - 1);
    if (end > begin + 1)
      times.push_back(std::atof(line.substr(begin + 1, end - begin - 1).c_str()));
  }
  if (times.empty()) return all;
  all.best_us = *std::min_element(times.begin(), times.end());
  all.near = std::count_if(times.begin(), times.end(),
                           [&](double us) { return us <= all.best_us * within; });
  return all;
}

// Counts evaluations up to the first that reaches the goal.
class Counter : public SearchObserver {
 public:
  explicit Counter(double goal_us) : goal_us_(goal_us) {}
  void on_candidate(const Candidate& candidate) override {
    if (reached_ || !candidate.evaluated) return;
    ++count_;
    const auto* accepted = std::get_if<Accepted>(&candidate.outcome);
    reached_ = accepted != nullptr && accepted->measurement.time_us <= goal_us_;
  }
  std::int64_t count() const { return reached_ ? count_ : -1; }

 private:
  double goal_us_;
  std::int64_t count_ = 0;
  bool reached_ = false;
};

struct Race {
  const Task& task;
  Backend& backend;
  std::string tunable;
  double goal_us;
};

// Evaluations until the goal; one more than the budget where it was not reached.
std::int64_t run(const Race& race, std::uint64_t seed, std::int64_t budget, bool random) {
  Counter counter(race.goal_us);
  EvolveOptions options;
  options.search.seed = seed;
  options.search.max_evaluations = budget;
  options.search.parallel = 1;
  options.tunables = {race.tunable};
  if (random) {
    options.random_search = true;
    options.search.offspring_per_slot = 1;  // no surrogate picks among the draws
    options.search.tune_share = 0;
  }
  options.observer = &counter;
  const auto report = evolve(race.task, race.backend, options);
  if (!report)
    std::fprintf(stderr, "seed %llu: %s\n", static_cast<unsigned long long>(seed),
                 report.error().message.c_str());
  return counter.count() > 0 ? counter.count() : budget + 1;
}

double median(std::vector<std::int64_t> counts) {
  std::sort(counts.begin(), counts.end());
  const std::size_t half = counts.size() / 2;
  return counts.size() % 2 == 1 ? static_cast<double>(counts[half])
                                : static_cast<double>(counts[half - 1] + counts[half]) / 2;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) {
    std::fprintf(stderr,
                 "usage: tuning_quality TASK.json TUNABLE.cu RECORDING [SEEDS [OUTPUT.json]]\n");
    return 2;
  }
  const Result<Task> task = load_task(argv[1]);
  const auto backend = open_backend(std::string("recorded:") + argv[3]);
  const Exhaustive all = read_table(std::string(argv[3]) + "/table.csv");
  if (!task || !backend || all.near == 0) {
    std::fprintf(stderr, "%s\n",
                 !task      ? task.error().message.c_str()
                 : !backend ? backend.error().message.c_str()
                            : "no times");
    return 2;
  }
  const int seeds = argc > 4 ? std::atoi(argv[4]) : 20;
  const auto budget = static_cast<std::int64_t>(share * static_cast<double>(all.evaluations));
  const Race race{*task, **backend, argv[2], all.best_us * within};
  std::vector<std::int64_t> ours, random;
  for (int seed = 1; seed <= seeds; ++seed) {
    ours.push_back(run(race, static_cast<std::uint64_t>(seed), budget, false));
    random.push_back(run(race, static_cast<std::uint64_t>(seed), budget, true));
  }
  std::printf(
      "%lld settings, %lld within 3 %% of %.2f us; median evaluations of %d seeds: search %.1f "
      "(%.1f %%), random %.1f\n",
      static_cast<long long>(all.evaluations), static_cast<long long>(all.near), all.best_us, seeds,
      median(ours), 100 * median(ours) / static_cast<double>(all.evaluations), median(random));
  const nlohmann::json out = {{"settings", all.evaluations},
                              {"near", all.near},
                              {"best_us", all.best_us},
                              {"within", within},
                              {"budget", budget},
                              {"median", {{"cupilot", median(ours)}, {"random", median(random)}}},
                              {"evaluations", {{"cupilot", ours}, {"random", random}}}};
  if (argc > 5) std::ofstream(argv[5]) << out.dump(1) << "\n";
  return 0;
}
