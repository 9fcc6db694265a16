// `cupilot tunable import`: another tuner's lists and a kernel, made into a tunable.
#include <filesystem>
#include <fstream>
#include <sstream>

#include <fmt/format.h>

#include <cupilot/parts/kernel_tuner.hpp>

#include "commands/verbs.hpp"
#include "screens/say.hpp"

namespace cupilot::cli {
namespace {

Result<std::string> read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  if (!file || !(text << file.rdbuf())) {
    return Error{ErrorCode::usage, path + ": cannot be read, or is empty",
                 "check the path and its permissions"};
  }
  return text.str();
}

}  // namespace

int tunable_import_command(const TunableFlags& flags) {
  const Result<std::string> list = read_file(flags.list);
  if (!list) return fail(list.error(), false);
  const Result<std::string> kernel = read_file(flags.kernel);
  if (!kernel) return fail(kernel.error(), false);
  const Result<std::string> tunable =
      import_tuner_list(*list, flags.list, *kernel, {flags.family, flags.name, flags.problem});
  if (!tunable) return fail(tunable.error(), false);
  if (flags.out.empty()) {
    say(*tunable);
    return 0;
  }
  std::error_code ignored;
  if (std::filesystem::exists(flags.out, ignored)) {
    return fail(Error{ErrorCode::usage, flags.out + ": is there already",
                      "choose another name; nothing was changed"},
                false);
  }
  std::ofstream out(flags.out, std::ios::binary);
  out << *tunable;
  out.close();
  if (!out)
    return fail(Error{ErrorCode::failure, flags.out + ": cannot be written",
                      "check the folder and its permissions"},
                false);
  say(fmt::format("{}; next: cupilot evolve TASK.json --tunable {}", flags.out, flags.out));
  return 0;
}

}  // namespace cupilot::cli
