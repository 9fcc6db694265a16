// What a candidate costs the controller before anything runs: proposing it, writing it, choosing
// the runs that prove it and putting its plan into numbers for each, and what it does of compiling
// it. usage: controller_cost [PROPOSALS [COMPILED [WORDS OF A GEMM...]]]
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <cupilot/parts/resolved_plan.hpp>
#include <cupilot/parts/verification.hpp>
#include <cupilot/search.hpp>

#include "base/hash.hpp"
#include "evolution/run/context.hpp"
#include "support/gemm.hpp"

namespace {

using namespace cupilot;

double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// As forecast, off by up to a fifth, always the same for a strategy.
Score outcome(const Knowledge& knowledge, const Strategy& strategy) {
  const auto forecast = knowledge.forecast ? knowledge.forecast(strategy) : std::nullopt;
  const std::string id = strategy_id(strategy);
  const double noise =
      static_cast<double>(std::strtoull(id.substr(0, 4).c_str(), nullptr, 16)) / 65536;
  Score score;
  score.accepted = score.evaluated = true;
  score.time_us = std::exp2(forecast ? forecast->log2_us : 10.0) * (0.9 + 0.2 * noise);
  return score;
}

struct Cost {
  double proposing = 0, writing = 0, choosing = 0, resolving = 0, compiling = 0;  // ms a candidate
  std::string digest;  // of the strategies
  std::string runs;    // a digest of what proves them
};

// What the screen and a device each do of a candidate's proof before a run.
void prove(const Task& task, const KernelSource& source, const DeviceSpec& device, Cost& cost,
           std::string& runs, double count) {
  const double began = cpu_seconds();
  const std::vector<Case> screened = battery(task, source, device, ProofLevel::candidate, 1, false);
  const std::vector<Case> real = battery(task, source, device, ProofLevel::candidate, 1, true);
  const double chosen = cpu_seconds();
  cost.choosing += 1e3 * (chosen - began) / count;
  for (const std::vector<Case>* cases : {&screened, &real}) {
    for (const Case& what : *cases) {
      const auto resolution = resolve(source, task, what.workload, device, nullptr);
      runs +=
          std::to_string(what.content.seed * 100 + static_cast<std::uint64_t>(what.content.kind));
      for (const auto& [axis, size] : what.workload.sizes) runs += axis + std::to_string(size);
      if (resolution && std::holds_alternative<ResolvedPlan>(*resolution)) {
        const auto& plan = std::get<ResolvedPlan>(*resolution);
        for (const ResolvedLaunch& launch : plan.launches)
          runs += std::to_string(launch.grid[0]) + launch.entry;
      }
    }
  }
  cost.resolving += 1e3 * (cpu_seconds() - chosen) / count;
}

constexpr std::size_t in_flight = 12;

Result<Cost> cost_of(const Task& task, Backend& backend, int proposals, int compiled) {
  auto components = find_components(task, backend.device(), {}, {}, {}, false);
  if (!components) return components.error();
  SearchOptions options;
  options.max_evaluations = 0;
  options.seed = 1;
  options.lookahead = static_cast<int>(in_flight);
  Search search(options, *components->space, *components->strategist, components->zone, 1e5,
                components->knowledge);
  Cost cost;
  std::vector<Strategy> all;
  std::vector<Proposal> open;
  const double began = cpu_seconds();
  double telling = 0;
  while (static_cast<int>(all.size()) < proposals) {
    auto asked = search.ask(1);
    if (!asked) return asked.error();
    if (const auto* more = std::get_if<std::vector<Proposal>>(&*asked)) {
      open.push_back(more->front());
      all.push_back(more->front().strategy);
    } else if (open.empty()) {
      break;
    }
    if (open.size() < in_flight && std::holds_alternative<std::vector<Proposal>>(*asked)) continue;
    const double before = cpu_seconds();
    const Score score = outcome(components->knowledge, open.front().strategy);
    telling += cpu_seconds() - before;
    search.tell(open.front().id, score);
    open.erase(open.begin());
  }
  const auto count = static_cast<double>(all.size());
  cost.proposing = 1e3 * (cpu_seconds() - began - telling) / count;
  std::string ids;
  for (const Strategy& strategy : all) ids += strategy_id(strategy);
  cost.digest = sha256_hex(ids).substr(0, 12);
  std::string runs;
  for (std::size_t i = 0; i < all.size(); ++i) {
    WriterBrief brief;
    brief.task = TaskRef(task);
    brief.strategy = &all[i];
    brief.device = &backend.device();
    const double before = cpu_seconds();
    auto source = components->writer->write(brief);
    cost.writing += 1e3 * (cpu_seconds() - before) / count;
    if (!source) continue;
    std::thread([&] { prove(task, *source, backend.device(), cost, runs, count); }).join();
    if (static_cast<int>(i) >= compiled) continue;
    const double asked = cpu_seconds();
    auto kernel = backend.compile(*source);
    if (kernel.is_error()) return kernel.error();
    cost.compiling += 1e3 * (cpu_seconds() - asked) / compiled;
  }
  cost.runs = sha256_hex(runs).substr(0, 12);
  return cost;
}

}  // namespace

int main(int count, char** words) {
  const int proposals = count > 1 ? std::atoi(words[1]) : 200,
            compiled = count > 2 ? std::atoi(words[2]) : 0;
  std::vector<std::vector<std::string>> all = {{"m=4096", "n=4096", "k=4096", "dtype=bf16"},
                                               {"m=4096", "n=4096", "k=4096"},
                                               {"m=4096", "n=4096", "k=4096", "dtype=e4m3"},
                                               {"m=16", "n=4096", "k=4096", "dtype=bf16"}};
  if (count > 3) all = {std::vector<std::string>(words + 3, words + count)};
  auto backend = open_backend("virtual:h200", {});
  if (!backend) {
    std::fprintf(stderr, "%s\n", backend.error().message.c_str());
    return 2;
  }
  for (const auto& sizes : all) {
    auto task = gemm_of(sizes);
    auto cost = task ? cost_of(*task, **backend, proposals, compiled) : Result<Cost>(task.error());
    if (!cost) {
      std::fprintf(stderr, "%s\n", cost.error().message.c_str());
      return 2;
    }
    std::string name;
    for (const std::string& word : sizes) name += word + " ";
    std::printf(
        "%-36s proposing %7.3f ms  writing %6.3f ms  choosing runs %6.3f ms  resolving %6.3f ms  "
        "compiling %7.3f ms  (%s %s)\n",
        name.c_str(), cost->proposing, cost->writing, cost->choosing, cost->resolving,
        cost->compiling, cost->digest.c_str(), cost->runs.c_str());
    std::fflush(stdout);
  }
  return 0;
}
