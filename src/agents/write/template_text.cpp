#include "agents/write/template_text.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <string_view>

#include "agents/write/device_headers.hpp"
#include "kernel/plan_arguments.hpp"

namespace cupilot {
namespace {

constexpr std::size_t comment_columns = 100;

// Prose as `//` lines. Nothing in it may end the comment, continue a line or look like a `//
// cupilot:` header.
std::string comment(std::string_view prose) {
  std::string lines, line;
  const auto flush = [&] {
    if (!line.empty()) lines += "//  " + line + "\n";
    line.clear();
  };
  std::string word;
  const auto end_word = [&] {
    if (!line.empty() && line.size() + word.size() + 5 > comment_columns) flush();
    if (!word.empty()) line += " " + word;
    word.clear();
  };
  for (const char c : prose) {
    if (c == '\n') {
      end_word();
      flush();
    } else if (static_cast<unsigned char>(c) <= ' ' || c == 127) {
      end_word();
    } else {
      word += c == '\\' ? '/' : c;
    }
  }
  end_word();
  flush();
  return lines;
}

std::string heading(const Tunable& tunable, const Task& task, const Strategy& strategy) {
  std::string text = fmt::format("// {}, class {}", task.name, name_of(task.precision));
  for (const Workload& workload : task.time_shapes) {
    std::string sizes;
    for (const auto& [axis, extent] : workload.sizes) sizes += fmt::format(" {}={}", axis, extent);
    text += (&workload == task.time_shapes.data() ? ", made for" : " and") + sizes;
  }
  text += fmt::format("\n// from template {}: {}\n", tunable.name,
                      tunable.summary.empty() ? "of a user" : tunable.summary);
  text += "// Strategy:\n" + comment(describe(strategy));
  if (!strategy.rationale.empty()) text += "// Why:\n" + comment(strategy.rationale);
  std::replace(text.begin(), text.end(), '\\', '/');
  return text;
}

std::string constant_line(const std::string& name, std::int64_t value, const std::string& remark) {
  const bool narrow = value >= INT32_MIN && value <= INT32_MAX;
  return fmt::format("constexpr {} {} = {};{}\n", narrow ? "int" : "long long", name, value,
                     remark.empty() ? "" : "  // " + remark);
}

std::string constant_lines(const Tunable& tunable, const Task& task, const Constants& constants) {
  std::string text = fmt::format("\n{}", chosen_mark);
  for (const TunableParameter& parameter : tunable.parameters) {
    const std::string& owner = parameter.technique.empty() ? tunable.name : parameter.technique;
    const std::string remark = owner == parameter.name ? owner : owner + "." + parameter.name;
    text += constant_line(parameter.constant, constants.at(parameter.constant), remark);
  }
  if (!task.constants.empty()) text += "\n// What the task fixes.\n";
  for (const auto& [name, value] : task.constants) text += constant_line(name, value, "");
  return text;
}

// Types of the task's tensors; an optional tensor that the task lacks gets the type of its first
// output.
std::string type_lines(const Tunable& tunable, const Task& task) {
  std::string text = fmt::format("\n{}", types_mark);
  std::set<std::string> named;
  std::string_view out = "float";
  for (auto tensor = task.tensors.rbegin(); tensor != task.tensors.rend(); ++tensor) {
    if (tensor->role == Role::out || tensor->role == Role::in_out) out = c_name(tensor->type);
  }
  const auto add = [&](const std::string& name, std::string_view type) {
    if (named.insert(name).second) text += fmt::format("using T_{} = {};\n", name, type);
  };
  for (const Tensor& tensor : task.tensors) add(tensor.name, c_name(tensor.type));
  for (const PlanLaunch& launch : tunable.plan.launches) {
    each_value(launch.args, [&](const PlanArgument& argument) {
      if (argument.name.ends_with('?')) add(argument.name.substr(0, argument.name.size() - 1), out);
    });
  }
  return text;
}

}  // namespace

Result<std::string> template_text(const Tunable& tunable, const Task& task,
                                  const Strategy& strategy, const Constants& constants) {
  std::string text = heading(tunable, task, strategy) + "\n";
  std::set<std::string> seen;
  if (auto done = inline_device_headers("#include \"cupilot/types.cuh\"", tunable.file, seen, text);
      !done)
    return done.error();
  text += constant_lines(tunable, task, constants) + type_lines(tunable, task) + "\n";
  if (auto done =
          inline_device_headers(tunable.text, tunable.file, seen, text, tunable.headers.get());
      !done)
    return done.error();
  return text;
}

}  // namespace cupilot
