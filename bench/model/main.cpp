// Expected against measured times of recorded landscapes.
//
//   model_quality OUT.json COUNTS_DIR LANDSCAPE_DIR…    COUNTS_DIR/counts-NAME.jsonl, where it is,
//   holds the time model's input model_quality --counts OUT.json COUNTS_DIR LANDSCAPE_DIR…    the
//   time model alone, with the median of |log(expected / measured)| and every pair of times
//
// Expectations: the time model from virtual counts; the templates' arithmetic; and that with what
// was learnt. The last is scored on strategies that nothing was learnt from, two halves in turn:
// `elsewhere` from the other half at the other shapes, `here` from 200 of the other half at this
// shape too. `moved` may know the very strategies at other shapes. `unseen` are those of
// `elsewhere` whose half did not serve to set the arithmetic's constants either, which were set on
// half 1 at bf16 4096 cubed.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>

#include <nlohmann/json.hpp>

#include <cupilot/family.hpp>
#include <cupilot/parts/agents.hpp>

#include "landscapes.hpp"
#include "scores.hpp"

using namespace cupilot;
using nlohmann::json;

namespace {

constexpr std::size_t drawn_here = 200;

// What was learnt of a landscape: the strategies of one half (0, 1; -1: both), at most so many.
void add_outcomes(std::vector<KnownTime>& outcomes, const Landscape& landscape, int half,
                  std::size_t most) {
  std::size_t added = 0;
  for (const Row& row : landscape.rows) {
    if ((half >= 0 && row.half != half) || added == most) continue;
    outcomes.push_back({&row.strategy, row.time_us, &landscape.task});
    ++added;
  }
}

using Expect = std::function<std::optional<Prediction>(const Row&)>;

// Scores by template, by core and over all.
json scored(const Landscape& landscape, const Expect& expect) {
  std::map<std::string, std::vector<Pair>> groups;
  for (const Row& row : landscape.rows) {
    const auto forecast = expect(row);
    if (!forecast) continue;
    const Pair pair{row.time_us, std::exp2(forecast->log2_us), forecast->sigma};
    groups[row.template_name].push_back(pair);
    groups["all"].push_back(pair);
    if (row.template_name.rfind("gemm_simt", 0) == 0) groups["simt"].push_back(pair);
  }
  json all = json::object();
  for (const auto& [name, pairs] : groups) {
    if (pairs.size() >= 20) all[name] = score_json(score(pairs));
  }
  return all;
}

void show(const std::string& landscape, const std::string& how, const json& groups) {
  for (const auto& [name, s] : groups.items())
    std::printf(
        "%-24s %-10s %-18s n %4d  rho %.3f  quarter %6.3f  top10 %.3f  error %.3f  in sigma %.2f\n",
        landscape.c_str(), how.c_str(), name.c_str(), s["strategies"].get<int>(),
        s["spearman"].get<double>(), s["spearman_fastest_quarter"].get<double>(),
        s["top_ten_over_best"].get<double>(), s["median_absolute_error"].get<double>(),
        s["within_sigma"].get<double>());
}

// Forecasts for each half of the strategies, learnt from the other (`halves`) or from both at other
// shapes, and from `here` at this one.
Expect learnt(const std::vector<Landscape>& all, std::size_t own, bool halves, std::size_t here) {
  const Landscape& landscape = all[own];
  std::vector<CostModel> of_half;
  for (const int half : {0, 1}) {
    std::vector<KnownTime> outcomes;
    add_outcomes(outcomes, landscape, 1 - half, here);
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (i != own) add_outcomes(outcomes, all[i], halves ? 1 - half : -1, all[i].rows.size());
    }
    of_half.push_back(make_cost_model(landscape.task, landscape.device,
                                      templates_of(builtin_families(), landscape.task), outcomes));
  }
  return [of_half](const Row& row) {
    return of_half[static_cast<std::size_t>(row.half)](row.strategy);
  };
}

std::optional<Prediction> counted(const Landscape& landscape, const Row& row) {
  if (row.launches.empty()) return std::nullopt;
  return Prediction{std::log2(model_time(landscape.device, row.launches).us), 1};
}

// The time model against what was counted, by landscape and template.
json counted_alone(const std::vector<Landscape>& all) {
  json result = json::object();
  for (const Landscape& landscape : all) {
    const Expect expect = [&](const Row& row) { return counted(landscape, row); };
    json& groups = result[landscape.name] =
        json{{"scores", scored(landscape, expect)}, {"errors", json::object()}};
    show(landscape.name, "counts", groups["scores"]);
    std::map<std::string, std::vector<double>> errors;
    for (const Row& row : landscape.rows) {
      const auto expected = expect(row);
      if (!expected) continue;
      const double us = std::exp2(expected->log2_us);
      errors[row.template_name].push_back(std::abs(std::log(us / row.time_us)));
      groups["pairs"].push_back(
          {{"template", row.template_name}, {"measured_us", row.time_us}, {"modelled_us", us}});
    }
    for (auto& [name, of] : errors) {
      std::sort(of.begin(), of.end());
      groups["errors"][name] = {{"strategies", of.size()},
                                {"median_absolute_log", of[of.size() / 2]}};
      std::printf("%-24s %-18s n %4zu  median |log| %.3f\n", landscape.name.c_str(), name.c_str(),
                  of.size(), of[of.size() / 2]);
    }
  }
  return result;
}

json judged(const std::vector<Landscape>& all, std::size_t own) {
  const Landscape& landscape = all[own];
  const CostModel arithmetic = make_cost_model(landscape.task, landscape.device,
                                               templates_of(builtin_families(), landscape.task));
  json result;
  result["counts"] = scored(landscape, [&](const Row& row) { return counted(landscape, row); });
  result["arithmetic"] =
      scored(landscape, [&](const Row& row) { return arithmetic(row.strategy); });
  result["moved"] = scored(landscape, learnt(all, own, false, 0));
  const Expect elsewhere = learnt(all, own, true, 0);
  result["elsewhere"] = scored(landscape, elsewhere);
  result["unseen"] = scored(
      landscape, [&](const Row& row) { return row.half == 0 ? elsewhere(row) : std::nullopt; });
  result["here"] = scored(landscape, learnt(all, own, true, drawn_here));
  for (const auto& [how, groups] : result.items()) show(landscape.name, how, groups);
  return result;
}

}  // namespace

int main(int count, char** words) {
  const bool counts_alone = count > 1 && std::string(words[1]) == "--counts";
  if (counts_alone) {
    --count;
    ++words;
  }
  if (count < 4) {
    std::fprintf(stderr, "usage: model_quality [--counts] OUT.json COUNTS_DIR LANDSCAPE_DIR...\n");
    return 2;
  }
  std::vector<Landscape> landscapes;
  for (int i = 3; i < count; ++i) landscapes.push_back(read_landscape(words[i], words[2]));
  json result;
  if (counts_alone) {
    std::ofstream(words[1]) << counted_alone(landscapes).dump() << "\n";
    return 0;
  }
  for (std::size_t i = 0; i < landscapes.size(); ++i)
    result[landscapes[i].name] = judged(landscapes, i);
  std::ofstream(words[1]) << result.dump(1) << "\n";
  return 0;
}
