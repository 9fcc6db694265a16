// Searches a kernel of one's own with a tenth of the evaluations that trying all of its settings
// takes. usage: example_tune_stencil [DEVICE [EVALUATIONS]]
#include <cupilot/cupilot.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>

namespace {

const std::string folder = STENCIL_FOLDER;

struct Exhaustive {
  long settings = 0;
  double best_us = 1e30;
};

// What `cupilot record stencil.json --tunable stencil_tunable.cu --device virtual:h200 --all`
// found.
Exhaustive exhaustive_search() {
  Exhaustive all;
  std::ifstream table(folder + "/exhaustive.csv");
  std::string line;
  for (std::getline(table, line); std::getline(table, line); ++all.settings) {
    const std::size_t end = line.rfind(','), begin = line.rfind(',', end - 1) + 1;
    if (end > begin)
      all.best_us = std::min(all.best_us, std::stod(line.substr(begin, end - begin)));
  }
  return all;
}

int fail(const cupilot::Error& error) {
  std::fprintf(stderr, "%s\n  next: %s\n", error.message.c_str(), error.hint.c_str());
  return static_cast<int>(error.code);
}

}  // namespace

int main(int argc, char** argv) {
  const Exhaustive all = exhaustive_search();
  const auto task = cupilot::load_task(folder + "/stencil.json");
  if (!task) return fail(task.error());
  const auto device = cupilot::open_backend(argc > 1 ? argv[1] : "virtual:h200");
  if (!device) return fail(device.error());

  cupilot::EvolveOptions options;
  options.tunables = {folder + "/stencil_tunable.cu"};
  options.search.max_evaluations = argc > 2 ? std::atol(argv[2]) : all.settings / 10;
  const auto report = cupilot::evolve(*task, **device, options);
  if (!report) return fail(report.error());
  const auto& found = std::get<cupilot::Accepted>(report->best->candidate.outcome).measurement;
  std::printf(
      "%s\n%.2f us %s after %ld evaluations; the best of all %ld settings: %.2f us modelled\n",
      describe(report->best->candidate.strategy).c_str(), found.time_us,
      name_of(found.provenance).data(), static_cast<long>(report->evaluations), all.settings,
      all.best_us);
}
