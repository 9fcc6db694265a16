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

namespace {

bool has_kind(const Task& task, std::initializer_list<std::string_view> beginnings) {
  for (const Operation& operation : task.operations) {
    for (const std::string_view beginning : beginnings) {
      if (operation.kind.starts_with(beginning)) return true;
    }
  }
  return false;
}

}  // namespace

std::string why_not(std::string_view contestant, const Task& task) {
  if (contestant == "torch-benchmark" && !has_kind(task, {"conv"}))
    return "cudnn.benchmark chooses among algorithms of convolutions only";
  if (!contestant.starts_with("torch-channels-last")) return "";
  const bool spatial = std::any_of(task.tensors.begin(), task.tensors.end(), [](const Tensor& t) {
    return t.role != Role::out && (t.shape.size() == 4 || t.shape.size() == 5);
  });
  const bool laid_out = has_kind(task, {"conv", "max_pool", "avg_pool", "adaptive_", "batch_norm",
                                        "group_norm", "instance_norm"});
  return spatial && laid_out
             ? ""
             : "channels last is another layout for two- and three-dimensional windows only";
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
