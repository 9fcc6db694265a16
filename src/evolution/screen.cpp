#include "evolution/screen.hpp"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

namespace cupilot {
namespace {

constexpr std::size_t cases_of_a_candidate = 6;

// Sizes multiplied: which of a task's shapes is cheaper to interpret.
double extent(const Case& what) {
  double product = 1;
  for (const auto& [axis, size] : what.workload.sizes) product *= static_cast<double>(std::max<std::int64_t>(1, size));
  return product;
}

// The first, which fills whole tiles and is where most wrong kernels fail, and the cheapest others, in the battery's order.
std::vector<Case> telling(const std::vector<Case>& cases, std::size_t count) {
  std::vector<std::size_t> order(cases.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  if (order.empty()) return {};
  std::stable_sort(order.begin() + 1, order.end(),
                   [&](std::size_t a, std::size_t b) { return extent(cases[a]) < extent(cases[b]); });
  order.resize(std::min(order.size(), count));
  std::sort(order.begin(), order.end());
  std::vector<Case> chosen;
  for (const std::size_t i : order) chosen.push_back(cases[i]);
  return chosen;
}

// What the virtual device cannot run, and shapes that a plan leaves out, the real one still may.
bool beyond_the_screen(const Rejected& rejected) {
  return rejected.code == "run.unsupported" || rejected.code == "verify.no_shape";
}

}  // namespace

Result<Screened> screen(const Pipe& pipe, const CompiledKernel& kernel, ProofLevel level, std::uint64_t seed) {
  Screened result;
  if (pipe.screen == nullptr) return result;
  std::vector<Case> cases = battery(*pipe.task, kernel.source, pipe.screen->device(), level, seed, false);
  if (level == ProofLevel::candidate) cases = telling(cases, cases_of_a_candidate);
  auto report = pipe.screen->run(*pipe.task, kernel, cases);
  if (!report) return std::move(report.error()).while_doing("screening on " + pipe.screen->identity());
  auto concluded = conclude(*pipe.task, kernel, level, *report);
  if (concluded.is_error()) return concluded.error();
  if (!concluded.is_rejected()) {
    result.proved = fmt::format(
        "{} interpreted {} cases with every access checked: bounds, alignment, races within a block, "
        "uninitialised reads, barriers",
        pipe.screen->identity(), report->cases.size());
    return result;
  }
  if (!beyond_the_screen(concluded.rejected())) {
    result.refused = concluded.rejected();
    result.refused->message = "on " + pipe.screen->identity() + ": " + result.refused->message;
    return result;
  }
  result.unproved = fmt::format("races, bounds and uninitialised reads in each access: {} could not run it ({})",
                                pipe.screen->identity(), concluded.rejected().message);
  return result;
}

Result<std::unique_ptr<Backend>> open_screen(const Backend& backend, const BackendOptions& options) {
  const std::vector<std::string> known = known_chips();
  const std::string& name = backend.device().name;
  const bool fits = backend.provenance() == Provenance::measured && std::find(known.begin(), known.end(), name) != known.end();
  if (!fits) return std::unique_ptr<Backend>();
  return open_backend("virtual:" + name, options);
}

}  // namespace cupilot
