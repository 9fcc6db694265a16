#include "draw.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>

#include <cupilot/family.hpp>
#include <cupilot/parts/agents.hpp>

#include "unpriced.hpp"

using namespace cupilot;

namespace {

constexpr int tries_a_strategy = 6;

// Shares of a landscape. Families that matter less at most shapes get fewer; which template wins is
// not asked.
double share_of(const std::string& name) {
  static const std::map<std::string, double> shares = {
      {"gemm_wgmma", 5}, {"gemm_mma", 3}, {"gemm_simt", 2}, {"gemm_simt_ring", 2}};
  const auto found = shares.find(name);
  return found == shares.end() ? 1 : found->second;
}

// `wanted` strategies of one template; fewer where the space has no more.
std::vector<Drawn> of_template(const Task& task, const DeviceSpec& device, const Tunable& tunable,
                               int wanted, std::uint64_t seed) {
  std::vector<Drawn> drawn;
  auto space = make_space(task, device, {unpriced(tunable)});
  if (!space) return drawn;
  const auto writer = template_writer({tunable});
  std::set<std::string> seen;
  for (int tries = 0; static_cast<int>(drawn.size()) < wanted && tries < tries_a_strategy * wanted;
       ++tries) {
    const Strategy strategy = sample(
        **space, Rng::of(seed, "landscape " + tunable.name, static_cast<std::uint64_t>(tries)));
    if (!(*space)->feasible(strategy) || !seen.insert(strategy_id(strategy)).second) continue;
    WriterBrief brief;
    brief.task = TaskRef(task);
    brief.strategy = &strategy;
    brief.device = &device;
    auto source = writer->write(brief);
    if (!source || source->template_name != tunable.name) continue;
    drawn.push_back({strategy, std::move(*source), static_cast<int>(drawn.size())});
  }
  return drawn;
}

}  // namespace

std::vector<Drawn> draw(const Task& task, const DeviceSpec& device, int count, std::uint64_t seed) {
  struct Part {
    const Tunable* tunable;
    int wanted;
    std::vector<Drawn> drawn;
  };
  const std::vector<Tunable> templates = templates_of(builtin_families(), task);
  double shares = 0;
  for (const Tunable& tunable : templates)
    shares += serves(tunable, task) ? share_of(tunable.name) : 0;
  std::vector<Part> parts;
  int missing = count, full = 0;
  for (const Tunable& tunable : templates) {
    if (!serves(tunable, task)) continue;
    const int wanted = std::max(1, static_cast<int>(count * share_of(tunable.name) / shares + 0.5));
    parts.push_back({&tunable, wanted, of_template(task, device, tunable, wanted, seed)});
    missing -= static_cast<int>(parts.back().drawn.size());
    full += static_cast<int>(parts.back().drawn.size()) == wanted ? 1 : 0;
  }
  // Templates whose space has more take the place of those that have too few.
  for (Part& part : parts) {
    if (missing <= 0 || static_cast<int>(part.drawn.size()) < part.wanted) continue;
    const int before = part.wanted;
    part.wanted += (missing + full - 1) / full;
    part.drawn = of_template(task, device, *part.tunable, part.wanted, seed);
    missing -= static_cast<int>(part.drawn.size()) - before;
    --full;
  }
  std::vector<std::pair<double, Drawn>> all;  // by place
  for (Part& part : parts) {
    for (Drawn& one : part.drawn) {
      const double place = (one.rank + 0.5) / part.wanted;
      all.emplace_back(place, std::move(one));
    }
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<Drawn> drawn;
  for (auto& [place, one] : all) drawn.push_back(std::move(one));
  return drawn;
}
