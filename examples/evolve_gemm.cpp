// Evolves a GEMM on whatever device is here and prints what was proved and how fast it is.
#include <cupilot/cupilot.hpp>

#include <cstdio>

namespace {

int fail(const cupilot::Error& error) {
  std::fprintf(stderr, "%s\n  next: %s\n", error.message.c_str(), error.hint.c_str());
  return static_cast<int>(error.code);
}

}  // namespace

int main(int argc, char** argv) {
  const auto task = cupilot::task_from_words({"gemm", "m=256", "n=256", "k=256", "dtype=fp32"});
  if (!task) return fail(task.error());
  const auto device = cupilot::open_backend(argc > 1 ? argv[1] : "auto");
  if (!device) return fail(device.error());

  const auto report = cupilot::evolve(*task, **device, {.search = {.max_evaluations = 16}});
  if (!report) return fail(report.error());
  const auto& best = *report->best;
  const auto& accepted = std::get<cupilot::Accepted>(best.candidate.outcome);
  std::printf("%s\n%.2f us %s, worst error %.3f of its bound\n",
              describe(best.candidate.strategy).c_str(), accepted.measurement.time_us,
              name_of(accepted.measurement.provenance).data(), accepted.verification.worst_ratio);
  return 0;
}
