#include <cupilot/parts/contestants.hpp>

#include <algorithm>

#include <fmt/format.h>

#include "task/nearest.hpp"

namespace cupilot {

std::vector<Contestant> contestants() {
  return {
      {"torch", "PyTorch eager with its default flags", false, true},
      {"torch-benchmark", "eager with torch.backends.cudnn.benchmark", true, true},
      {"torch-channels-last",
       "eager in the layout channels_last with cudnn.benchmark, inputs and outputs converted "
       "inside the timed region",
       true, true},
      {"torch-channels-last-bare", "the same with its inputs converted before; in no mean", true,
       false},
      {"torch-compile", "torch.compile with its default mode", false, true},
      {"torch-max-autotune", "torch.compile with mode max-autotune-no-cudagraphs", false, true}};
}

bool is_contestant(std::string_view name) {
  const std::vector<Contestant> known = contestants();
  return std::any_of(known.begin(), known.end(),
                     [&](const Contestant& one) { return one.name == name; });
}

Result<void> check_contestants(std::span<const std::string> names) {
  const std::vector<Contestant> known = contestants();
  std::vector<std::string_view> words;
  for (const Contestant& one : known) words.push_back(one.name);
  for (const std::string& name : names) {
    if (is_contestant(name)) continue;
    const std::string_view near = close_to(name, words);
    return Error{
        ErrorCode::usage, fmt::format("unknown contestant '{}'", name.substr(0, 60)),
        near.empty() ? "known are " + listed(words) : fmt::format("did you mean {}?", near)};
  }
  return {};
}

}  // namespace cupilot
