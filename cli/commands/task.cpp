#include <fmt/format.h>

#include <cupilot/backend.hpp>
#include <cupilot/family.hpp>
#include <cupilot/parts/checker_power.hpp>

#include "commands/verbs.hpp"
#include "device.hpp"
#include "screens/json_out.hpp"
#include "screens/say.hpp"

namespace cupilot::cli {

int task_check_command(const TaskFlags& flags) {
  const Result<Families> families = load_families(flags.common.families);
  if (!families) return fail(families.error(), flags.common.json);
  const Result<Task> task = task_from_words(flags.task, *families);
  if (!task) return fail(task.error(), flags.common.json);
  const Result<std::unique_ptr<Backend>> backend =
      open_proving_device(flags.common.device, "task check");
  if (!backend) return fail(backend.error(), flags.common.json);
  const Result<PowerReport> power = check_power(TaskRef(*task), **backend);
  if (!power) return fail(power.error(), flags.common.json);
  if (flags.common.json) {
    say(power_json(*power));
    return 0;
  }
  say(fmt::format("FIT to be searched: {} refuses {} wrong outputs ({:.1f} s)", task->name,
                  power->fakes, power->seconds));
  for (const std::string& sentence : power->shown) say("  " + sentence);
  for (const std::string& sentence : power->exempt) say("  exempt: " + sentence);
  return 0;
}

}  // namespace cupilot::cli
