// A GEMM evolved on the virtual device, in a project that knows cupilot only as an installed
// package.
#include <cupilot/backend.hpp>
#include <cupilot/evolve.hpp>
#include <cupilot/family.hpp>

#include <cstdio>

int fail(const cupilot::Error& error) {
  return std::fprintf(stderr, "%s\n", error.message.c_str()), 1;
}

int main() {
  const auto task = cupilot::task_from_words({"gemm", "m=128", "n=128", "k=128"});
  if (!task) return fail(task.error());
  const auto device = cupilot::open_backend("virtual:h200");
  if (!device) return fail(device.error());
  const auto report = cupilot::evolve(*task, **device, {.search = {.max_evaluations = 8}});
  if (!report) return fail(report.error());
  const auto& best = report->best->candidate;
  const auto& time = std::get<cupilot::Accepted>(best.outcome).measurement;
  std::printf("%.2f us %s: %s\n", time.time_us, name_of(time.provenance).data(),
              describe(best.strategy).c_str());
}
