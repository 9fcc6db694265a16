#include <fmt/format.h>

#include <cupilot/backend.hpp>

#include "commands/verbs.hpp"
#include "device.hpp"
#include "kernel_files.hpp"
#include "screens/profile.hpp"
#include "screens/say.hpp"
#include "screens/verify.hpp"

namespace cupilot::cli {
namespace {

// The launch named `only`, or else the one that takes longest.
Result<std::size_t> choose(const Profile& profile, const std::string& only) {
  std::string known;
  std::size_t longest = 0;
  for (std::size_t i = 0; i < profile.launches.size(); ++i) {
    const LaunchProfile& launch = profile.launches[i];
    if (launch.name == only) return i;
    known += (known.empty() ? "" : ", ") + launch.name;
    if (launch.time.us > profile.launches[longest].time.us) longest = i;
  }
  if (only.empty()) return longest;
  return Error{ErrorCode::usage,
               fmt::format("--only {}: the plan times no launch of that name", only),
               "its launches: " + known};
}

}  // namespace

int profile_command(const KernelFlags& flags) {
  const bool json = flags.common.json;
  Result<std::unique_ptr<Backend>> backend = open_own_device(
      flags.common.device, "", {.leave_others_out = !flags.entry.empty()}, flags.common.counters);
  if (!backend) return fail(backend.error(), json);
  Result<OwnKernel> kernel = open_kernel(flags.files.front(), flags, (*backend)->device());
  if (!kernel) return fail(kernel.error(), json);
  const Ticker waiting = tell_waits("profiling " + kernel->path);
  Attempt<CompiledKernel> compiled = (*backend)->compile(kernel->source);
  if (compiled.is_error()) return fail(compiled.error(), json);
  if (compiled.is_rejected()) return say_refused(*kernel, compiled.rejected(), **backend, json);

  const Task task = kernel->task ? *kernel->task : Task{};
  const Workload workload = task.time_shapes.empty() ? Workload{} : task.time_shapes.front();
  const Attempt<Profile> profile =
      (*backend)->inspector().profile(TaskRef(task), *compiled, workload);
  if (profile.is_error()) return fail(profile.error(), json);
  if (profile.is_rejected()) return say_refused(*kernel, profile.rejected(), **backend, json);
  const Result<std::size_t> chosen = choose(*profile, flags.only);
  if (!chosen) return fail(chosen.error(), json);
  if (json) {
    say(profile_json(*kernel, *profile, (*backend)->device()));
    return 0;
  }
  std::string screen =
      profile_screen(*kernel, *profile, (*backend)->device(), *chosen, flags.line_count);
  screen.pop_back();
  say(screen);
  return 0;
}

}  // namespace cupilot::cli
