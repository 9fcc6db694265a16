// What the screen costs: processor seconds a candidate, on sampled strategies of GEMM tasks, beside
// the compile.
//
//   screen_cost [COUNT] > screen-cost.json
#include <cupilot/backend.hpp>
#include <cupilot/parts/agents.hpp>
#include <cupilot/strategy.hpp>

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "evolution/evaluate/screen.hpp"
#include "support/gemm.hpp"

namespace {

using namespace cupilot;
using nlohmann::json;

const std::vector<std::vector<std::string>> subjects = {
    {"m=4096", "n=4096", "k=4096", "dtype=fp32"},
    {"m=4096", "n=4096", "k=4096", "dtype=bf16"},
    {"m=512", "n=512", "k=512", "dtype=fp32"},
    {"m=4095", "n=4097", "k=1023", "dtype=fp32"},
    {"m=1", "n=4096", "k=4096", "dtype=fp32"},
    {"m=96", "n=80", "k=112", "dtype=fp32", "batch=64"},
};

double processor_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
         1e-6 * static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

[[noreturn]] void fail(const Error& error) {
  std::cerr << "screen_cost: " << error.message << "\n";
  std::exit(static_cast<int>(error.code));
}

template <class T>
T need(Result<T> result) {
  if (!result) fail(result.error());
  return std::move(*result);
}

json quantiles(std::vector<double> values) {
  if (values.empty()) return nullptr;
  std::sort(values.begin(), values.end());
  double sum = 0;
  for (const double value : values) sum += value;
  return {{"mean", sum / static_cast<double>(values.size())},
          {"median", values[values.size() / 2]},
          {"most", values.back()}};
}

json measure(Backend& backend, const std::vector<std::string>& words, int count) {
  const Task task = need(gemm_of(words));
  const std::vector<Tunable> tunables = builtin_tunables();
  const auto space = need(make_space(task, backend.device(), tunables));
  const auto writer = template_writer(tunables);
  const Pipe pipe{TaskRef(task), &backend, nullptr, 1, &backend};
  std::vector<double> candidate, elite, compile;
  int refused = 0, unsupported = 0;
  for (int i = 0; i < count; ++i) {
    const Strategy strategy =
        sample(*space, Rng::of(1, "screen_cost", static_cast<std::uint64_t>(i)));
    WriterBrief brief;
    brief.task = TaskRef(task);
    brief.strategy = &strategy;
    brief.device = &backend.device();
    const auto source = writer->write(brief);
    if (!source) continue;
    const auto began = std::chrono::steady_clock::now();
    const auto kernel = backend.compile(*source);
    if (!kernel) continue;
    compile.push_back(
        std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count());
    for (const ProofLevel level : {ProofLevel::candidate, ProofLevel::elite}) {
      const double before = processor_seconds();
      const Screened screened = need(screen(pipe, *kernel, level, 1));
      (level == ProofLevel::candidate ? candidate : elite).push_back(processor_seconds() - before);
      refused += screened.refused.has_value();
      unsupported += !screened.unproved.empty();
    }
  }
  return {{"task", words},
          {"kernels", compile.size()},
          {"refused", refused},
          {"unsupported", unsupported},
          {"compile_wall_s", quantiles(compile)},
          {"candidate_cpu_s", quantiles(candidate)},
          {"elite_cpu_s", quantiles(elite)}};
}

}  // namespace

int main(int argc, char** argv) {
  const int count = argc > 1 ? std::atoi(argv[1]) : 24;
  const auto backend = need(open_backend("virtual:h200"));
  json rows = json::array();
  for (const auto& words : subjects) rows.push_back(measure(*backend, words, count));
  std::cout << json{{"device", backend->identity()}, {"rows", rows}}.dump(1) << "\n";
}
