// Another optimizer's loop around cupilot's search: the host compiles and times kernels its own way
// (here a toy cost of the launch's numbers) and tells the times, which stay its word: `reported`.
#include <cupilot/cupilot.hpp>

#include <cmath>
#include <cstdio>

namespace {

// Waves of blocks over the SMs, and what a block costs.
double toy_time_us(const cupilot::Job& job, const cupilot::DeviceSpec& device) {
  const cupilot::ResolvedLaunch& launch = job.plans.front().launches.front();
  const double blocks = static_cast<double>(launch.grid[0] * launch.grid[1] * launch.grid[2]);
  const double waves = std::ceil(blocks / device.sms);
  return 50 + waves * (4 + 2048.0 / launch.block[0]);
}

int fail(const cupilot::Error& error) {
  std::fprintf(stderr, "%s\n  next: %s\n", error.message.c_str(), error.hint.c_str());
  return static_cast<int>(error.code);
}

}  // namespace

int main() {
  const auto task = cupilot::task_from_words({"gemm", "m=1024", "n=1024", "k=1024", "dtype=fp32"});
  const auto device = cupilot::chip("h200");
  auto evolution = cupilot::Evolution::begin(*task, *device, {.search = {.max_evaluations = 60}});
  if (!evolution) return fail(evolution.error());
  while (true) {
    const auto asked = evolution->ask(4);
    if (!asked) return fail(asked.error());
    const auto* jobs = std::get_if<std::vector<cupilot::Job>>(&*asked);
    if (jobs == nullptr) break;  // finished; every job was answered, so it never waits
    for (const cupilot::Job& job : *jobs) {
      if (job.plans.empty()) {
        evolution->forget(job.proposal.id);  // its launch is known only after compiling
      } else if (const auto told =
                     evolution->tell(job.proposal.id, cupilot::Reported{toy_time_us(job, *device)});
                 !told) {
        return fail(told.error());
      }
    }
  }
  const auto best = evolution->best();
  if (!best) return 7;
  std::printf("%s\n%.1f us reported, after %lld evaluations\n", describe(best->strategy).c_str(),
              best->time_us, static_cast<long long>(evolution->search().evaluations()));
  return 0;
}
