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

#include <cupilot/search.hpp>

#include "rivals.hpp"
#include "strategy/build_space.hpp"

namespace {

using namespace cupilot;

Constants constants_of(const Space& space, const Strategy& strategy) {
  Constants constants;
  for (const Use& use : strategy.uses) {
    constants[use.technique] = 1;
    for (const Knob& knob : space.knobs()) {
      if (knob.technique != use.technique) continue;
      const auto found = use.values.find(knob.parameter);
      constants[knob.technique + "." + knob.parameter] =
          found == use.values.end() ? knob.fallback : found->second;
    }
  }
  return constants;
}

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
  for (std::int64_t count = 1; count < rules.cap; ++count) {
    auto asked = search.ask(1);
    if (!asked || !std::holds_alternative<std::vector<Proposal>>(*asked)) break;
    const Proposal& proposal = std::get<std::vector<Proposal>>(*asked).front();
    const auto point = landscape.point_of(constants_of(space, proposal.strategy));
    Score score;
    score.accepted = score.evaluated = true;
    score.time_us = landscape.time_us(point);
    if (score.time_us <= goal) return count;
    search.tell(proposal.id, score);
  }
  return rules.cap;
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
