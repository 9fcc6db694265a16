// Evaluations until a search is within 5 % of a known optimum, against random search and restarted
// hill climbing. usage: search_quality [SEEDS [OUTPUT.json [LANDSCAPE...]]]
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>

#include <cupilot/parts/evaluator.hpp>

#include "agents/write/values_writer.hpp"
#include "rivals.hpp"
#include "strategy/build_space.hpp"

namespace {

using namespace cupilot;

// The search with its defaults, as `evolve` runs it but for the budget; one proposal at a time.
std::int64_t our_search(const Landscape& landscape, const Space& space, const RaceRules& rules,
                        std::uint64_t seed) {
  SearchOptions options;
  options.seed = seed;
  options.max_evaluations = 0;
  const double goal = landscape.spec().best_us * rules.within;
  const auto strategist = rule_strategist();
  Search search(options, space, *strategist, Zone::middle,
                landscape.spec().best_us * std::exp2(landscape.spec().octaves));
  std::int64_t count = 0;
  bool reached = false;
  FunctionEvaluator evaluator([&](const EvaluationJob& job) -> Result<Candidate> {
    const auto point = landscape.point_of(values_of(space, job.proposal.strategy));
    return timed_candidate(job.proposal, landscape.time_us(point));
  });
  const auto ended = run_search(search, evaluator, [&](const Evaluated& done) {
    ++count;
    reached = std::get<Accepted>(done.candidate->outcome).measurement.time_us <= goal;
    return !reached && count < rules.cap;
  });
  return ended && reached ? count : rules.cap;
}

std::int64_t median(std::vector<std::int64_t> counts) {
  std::sort(counts.begin(), counts.end());
  return counts[counts.size() / 2];
}

std::string read(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace

int main(int argc, char** argv) {
  const int seeds = argc > 1 ? std::atoi(argv[1]) : 50;
  std::vector<std::string> files(argv + std::min(argc, 3), argv + argc);
  if (files.empty()) {
    for (const char* name : {"additive", "nk", "deceptive"}) {
      files.push_back(std::string(CUPILOT_SOURCE_DIR) + "/bench/landscapes/" + name + ".json");
    }
  }
  nlohmann::json results = {
      {"within", 1.05}, {"seeds", seeds}, {"landscapes", nlohmann::json::array()}};
  for (const std::string& file : files) {
    auto spec = landscape_from_json(read(file), file);
    auto landscape = spec ? Landscape::make(*spec) : Result<Landscape>(spec.error());
    if (!landscape) {
      std::fprintf(stderr, "%s\n", landscape.error().message.c_str());
      return 2;
    }
    auto space = build_space({landscape->techniques(), {}});
    if (!space) {
      std::fprintf(stderr, "%s\n", space.error().message.c_str());
      return 2;
    }
    const RaceRules rival_rules{1.05, 20000}, our_rules{1.05, 5000};
    std::vector<std::int64_t> ours, random, climbing;
    for (int seed = 1; seed <= seeds; ++seed) {
      const auto number = static_cast<std::uint64_t>(seed);
      ours.push_back(our_search(*landscape, **space, our_rules, number));
      random.push_back(random_search(*landscape, rival_rules, Rng::of(number, "random")));
      climbing.push_back(
          restarted_hill_climbing(*landscape, rival_rules, Rng::of(number, "climbing")));
    }
    const double a = static_cast<double>(median(ours)), b = static_cast<double>(median(random)),
                 c = static_cast<double>(median(climbing));
    std::printf(
        "%-40s %8.3g points  ours %6.0f  random %6.0f (%.1fx)  hill climbing %6.0f (%.1fx)\n",
        file.substr(file.rfind('/') + 1).c_str(), landscape->points(), a, b, b / a, c, c / a);
    std::fflush(stdout);
    results["landscapes"].push_back(
        {{"file", file.substr(file.rfind('/') + 1)},
         {"points", landscape->points()},
         {"median", {{"cupilot", a}, {"random", b}, {"hill_climbing", c}}},
         {"times_fewer", {{"random", b / a}, {"hill_climbing", c / a}}},
         {"cap", {{"cupilot", our_rules.cap}, {"rivals", rival_rules.cap}}},
         {"evaluations", {{"cupilot", ours}, {"random", random}, {"hill_climbing", climbing}}}});
  }
  if (argc > 2) std::ofstream(argv[2]) << results.dump(1) << "\n";
  return 0;
}
