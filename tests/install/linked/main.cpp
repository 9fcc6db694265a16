// The library linked into the program: only then must its worker be named.
#include <cupilot/backend.hpp>
#include <cupilot/evolve.hpp>
#include <cupilot/family.hpp>

#include <cstdio>

int main() {
  const auto task = cupilot::task_from_words({"gemm", "m=64", "n=64", "k=64"});
  const auto device = cupilot::open_backend("virtual:h200", {.worker_path = WORKER});
  if (!task || !device) return 1;
  const auto report = cupilot::evolve(*task, **device, {.search = {.max_evaluations = 2}});
  if (!report || !report->best) return 2;
  const auto& time = std::get<cupilot::Accepted>(report->best->candidate.outcome).measurement;
  std::printf("%.2f us %s\n", time.time_us, name_of(time.provenance).data());
}
