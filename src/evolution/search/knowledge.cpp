#include "evolution/search/knowledge.hpp"

#include <algorithm>
#include <cmath>
#include <cupilot/parts/agents.hpp>
#include <map>
#include <set>

#include <fmt/format.h>

#include "evolution/search/population.hpp"

namespace cupilot {
namespace {

constexpr int most_remembered = 6;    // a fifth of the first generation
constexpr int most_consulted = 24;    // entries whose effects count
constexpr int most_kept = 3;          // per run
constexpr int most_runs_counted = 4;  // however many runs say so: this one may be different

std::set<std::string> techniques_of(const Strategy& strategy) {
  std::set<std::string> names;
  for (const Use& use : strategy.uses) names.insert(use.technique);
  return names;
}

// SearchComponents over the matches, weighted by how often each saw the technique; counted by runs.
std::vector<StrategyBrief::Effect> mean_effects(std::span<const PoolMatch> matches,
                                                const std::string& device) {
  struct Sum {
    double gain = 0;
    int seen = 0, runs = 0;
  };
  std::map<std::string, Sum> sums;
  for (const PoolMatch& match : matches) {
    if (match.entry.device != device) continue;
    for (const StrategyBrief::Effect& effect : match.entry.effects) {
      Sum& sum = sums[effect.technique];
      sum.gain += effect.gain * effect.count;
      sum.seen += effect.count;
      ++sum.runs;
    }
  }
  std::vector<StrategyBrief::Effect> all;
  for (const auto& [technique, sum] : sums) {
    if (sum.seen > 0)
      all.push_back({technique, sum.gain / sum.seen, std::min(sum.runs, most_runs_counted)});
  }
  return all;
}

// Matches of the family and of the related ones, best first, as many as the query asks for.
Result<std::vector<PoolMatch>> found_in(const StrategyPool& pool, PoolQuery query,
                                        const std::string& family,
                                        const std::vector<std::string>& related) {
  query.family = family;
  auto all = pool.find(query);
  if (!all) return all;
  for (const std::string& other : related) {
    if (other == family) continue;
    query.family = other;
    const auto more = pool.find(query);
    if (!more) return more;
    all->insert(all->end(), more->begin(), more->end());
  }
  std::stable_sort(all->begin(), all->end(),
                   [](const PoolMatch& a, const PoolMatch& b) { return a.score > b.score; });
  const std::size_t most = static_cast<std::size_t>(query.limit);
  if (query.limit >= 0 && all->size() > most) all->resize(most);
  return all;
}

// The task as the pool's texts speak of such.
std::string words_of(const Task& task) {
  std::string words = task.family + " " + task.name + " " + std::string(name_of(task.precision));
  for (const Operation& operation : task.operations) words += " " + operation.kind;
  return words;
}

// Times of other runs never enter a prompt.
ProvedKernel example_of(const PoolEntry& entry) {
  return {entry.kernel, entry.computes,
          fmt::format("{} on {}", entry.text.substr(0, entry.text.find(':')), entry.device)};
}

// The number of the task's operators that the words in front of the entry's text name.
std::size_t operators_in(const PoolEntry& entry, const Task& task) {
  const std::string words = " " + entry.text.substr(0, entry.text.find(':')) + " ";
  std::set<std::string> met;
  for (const Operation& operation : task.operations)
    if (words.find(" " + operation.kind + " ") != std::string::npos) met.insert(operation.kind);
  return met.size();
}

}  // namespace

Result<ProvedKernel> nearest_example(const Task& task, const DeviceSpec& device,
                                     const StrategyPool& pool, const PoolGuard& guard) {
  if (task.operations.empty()) return ProvedKernel{};
  PoolQuery query;
  query.with_kernel = true;
  query.precision = name_of(task.precision);
  query.device = device.name;
  query.arch = device.arch;
  query.text = words_of(task);
  query.limit = -1;
  query.without_task = guard.task;
  query.without_tags = guard.tags;
  const auto matches = pool.find(query);
  if (!matches) return matches.error();
  ProvedKernel nearest;
  std::size_t most = 0;
  for (const PoolMatch& match : *matches) {
    const std::size_t shared = operators_in(match.entry, task);
    if (shared <= most || match.entry.kernel.size() > longest_example) continue;
    most = shared;
    nearest = example_of(match.entry);
  }
  return nearest;
}

Result<Recollection> remember(const Task& task, const DeviceSpec& device, const Space& space,
                              std::optional<Zone> zone, const StrategyPool& pool,
                              const PoolGuard& guard, const std::vector<std::string>& related) {
  PoolQuery query;
  query.precision = name_of(task.precision);
  query.device = device.name;
  query.arch = device.arch;
  query.shape = shape_class(task);
  query.zone = zone;
  query.text = words_of(task);
  query.limit = most_consulted;
  query.without_task = guard.task;
  query.without_tags = guard.tags;
  const auto matches = found_in(pool, query, task.family, related);
  if (!matches) return matches.error();
  Recollection all;
  std::set<std::string> ids;
  for (const PoolMatch& match : *matches) {
    const PoolEntry& entry = match.entry;
    if (all.example.kernel.empty() && entry.kernel.size() <= longest_example)
      all.example = example_of(entry);
    // Another type's kernels need another core.
    if (match.entry.precision != query.precision ||
        static_cast<int>(all.strategies.size()) >= most_remembered)
      continue;
    auto whole = space.complete(match.entry.strategy);
    if (!whole || !ids.insert(strategy_id(whole->strategy)).second) continue;
    whole->strategy.parents.clear();
    all.strategies.push_back(std::move(whole->strategy));
  }
  all.effects = mean_effects(*matches, device.name);
  return all;
}

std::vector<StrategyBrief::Effect> effects_of(std::span<const Individual> all) {
  std::map<std::string, const Individual*> by_id;
  for (const Individual& one : all) by_id.emplace(strategy_id(one.strategy), &one);
  EffectBook book;
  for (const Individual& child : all) {
    for (const std::string& parent : child.strategy.parents) {
      const auto found = by_id.find(parent);
      if (found != by_id.end())
        book.note(child.strategy, child.time_us, found->second->strategy, found->second->time_us);
    }
  }
  return book.effects();
}

std::vector<PoolEntry> lessons_of(const Task& task, const DeviceSpec& device, Provenance provenance,
                                  double plain_us, std::span<const Individual> fastest,
                                  const std::vector<std::string>& tags) {
  const std::vector<StrategyBrief::Effect> effects = effects_of(fastest);
  std::vector<PoolEntry> lessons;
  std::set<std::set<std::string>> met;
  const std::string id = task_id(task);
  for (const Individual& one : fastest) {
    if (static_cast<int>(lessons.size()) >= most_kept) break;
    if (one.time_us <= 0 || !met.insert(techniques_of(one.strategy)).second) continue;
    PoolEntry& lesson = lessons.emplace_back();
    lesson.strategy = one.strategy;
    lesson.family = task.family;
    lesson.precision = name_of(task.precision);
    lesson.device = device.name;
    lesson.zone = one.verdict.zone;
    lesson.shape = shape_class(task);
    lesson.log2_gain = plain_us > 0 ? std::log2(plain_us / one.time_us) : 0;
    lesson.floor_share = one.verdict.floor_share;
    lesson.effects = effects;
    lesson.text = fmt::format("{}: {:.4g} us on {}, bound by {}", words_of(task), one.time_us,
                              device.label, name_of(one.verdict.binding));
    lesson.origin = name_of(provenance);
    lesson.task = id;
    lesson.tags = tags;
  }
  return lessons;
}

Result<void> keep_in_pool(const std::string& path, std::span<const PoolEntry> lessons) {
  if (lessons.empty()) return {};
  auto pool = StrategyPool::open(path);
  if (!pool) return pool.error();
  for (const PoolEntry& lesson : lessons) {
    if (auto added = pool->add(lesson); !added) return added;
  }
  return {};
}

std::string kind_of_times(const Task& task, const DeviceSpec& device, Provenance provenance) {
  if (provenance != Provenance::measured || task.time_shapes.size() != 1) return "";
  std::string kind = device.name + " " + task.family + " " + std::string(name_of(task.precision));
  for (const Tensor& tensor : task.tensors)
    kind += fmt::format(" {}:{}", tensor.name, name_of(tensor.type));
  for (const auto& [name, value] : task.constants) kind += fmt::format(" {}={}", name, value);
  return kind;
}

std::vector<PoolOutcome> outcomes_of(const Task& task, std::span<const Individual> fastest) {
  std::vector<PoolOutcome> outcomes;
  for (auto one = fastest.rbegin(); one != fastest.rend(); ++one) {
    if (!(one->time_us > 0)) continue;
    outcomes.push_back({one->strategy, task.time_shapes.front().sizes, one->time_us});
    outcomes.back().strategy.parents.clear();
  }
  return outcomes;
}

Result<void> keep_outcomes(const std::string& path, const std::string& kind,
                           std::span<const PoolOutcome> outcomes) {
  if (kind.empty() || outcomes.empty()) return {};
  auto pool = StrategyPool::open(path);
  if (!pool) return pool.error();
  return pool->add_outcomes(kind, outcomes);
}

CostModel learnt_forecaster(const Task& task, const DeviceSpec& device,
                            const std::vector<Tunable>& tunables,
                            std::span<const PoolOutcome> learnt) {
  std::map<std::map<std::string, std::int64_t>, Task> at;  // by sizes
  for (const PoolOutcome& outcome : learnt) {
    const auto [place, fresh] = at.try_emplace(outcome.sizes, task);
    if (fresh && !place->second.time_shapes.empty())
      place->second.time_shapes.front().sizes = outcome.sizes;
  }
  std::vector<KnownTime> known;
  for (const PoolOutcome& outcome : learnt)
    known.push_back({&outcome.strategy, outcome.time_us, &at.at(outcome.sizes)});
  return make_cost_model(task, device, tunables, known);
}

}  // namespace cupilot
