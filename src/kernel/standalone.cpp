// A .cu that stands alone: leading `// cupilot: {json}` lines (docs/formats/kernel-file.md).
#include <fmt/core.h>

#include <cupilot/parts/kernel_source.hpp>

#include "kernel/file_text.hpp"
#include "kernel/plan_json.hpp"
#include "kernel/standalone.hpp"

namespace cupilot {
namespace {

constexpr std::string_view mark = "// cupilot:";
constexpr std::size_t file_limit = 8u << 20;

std::string_view trimmed(std::string_view line) {
  while (!line.empty() && (line.front() == ' ' || line.front() == '\t')) line.remove_prefix(1);
  while (!line.empty() && (line.back() == ' ' || line.back() == '\t' || line.back() == '\r'))
    line.remove_suffix(1);
  return line;
}

// The header ends at the first line that is neither blank nor a `//` comment.
bool in_header(std::string_view line) { return line.empty() || line.starts_with("//"); }

Result<void> take_line(const Json& json, const std::string& where, StandaloneKernel& kernel) {
  JsonFaults faults(where, "docs/formats/kernel-file.md");
  JsonObject object(faults, json, "");
  if (object.find("task") != nullptr) kernel.task_words = object.texts("task");
  if (object.find("template") != nullptr)
    kernel.source.template_name = object.text("template", true);
  if (object.find("strategy") != nullptr) kernel.source.strategy_id = object.text("strategy", true);
  if (const Json* constants = object.find_object("constants")) {
    JsonObject values(faults, *constants, "constants");
    for (const auto& item : constants->items()) {
      if (!is_identifier(item.key())) values.fail(item.key(), "is no identifier");
      kernel.source.constants[item.key()] = values.integer(item.key().c_str(), true);
    }
  }
  if (const Json* plan = object.find_object("plan"))
    kernel.source.plan = plan_from(faults, *plan, "plan");
  object.done();
  if (faults.first()) return *faults.first();
  return {};
}

std::string dump(const Json& json) {
  return json.dump(-1, ' ', true, Json::error_handler_t::replace);
}

}  // namespace

Result<StandaloneKernel> read_standalone(const std::string& path) {
  const auto text = file_text(path);
  if (!text) return Error{ErrorCode::usage, path + ": cannot be read", "name a kernel file"};
  if (text->starts_with("\x7f"
                        "ELF"))
    return Error{ErrorCode::usage, path + ": is a binary, and no text",
                 "give CUDA or PTX; `cuobjdump -ptx` shows the PTX that a binary carries"};
  return standalone_from(*text, path);
}

Result<StandaloneKernel> standalone_from(std::string_view text, const std::string& path) {
  if (text.size() > file_limit)
    return Error{ErrorCode::usage, fmt::format("{}: over {} bytes", path, file_limit), {}};
  StandaloneKernel kernel;
  if (path.ends_with(".ptx")) kernel.source.language = Language::ptx;
  bool header = true;
  int number = 0;
  for (std::size_t from = 0; from < text.size();) {
    const std::size_t end = std::min(text.find('\n', from), text.size() - 1) + 1;
    const std::string_view line = text.substr(from, end - from);
    const std::string_view bare =
        trimmed(line.ends_with('\n') ? line.substr(0, line.size() - 1) : line);
    from = end;
    ++number;
    header = header && in_header(bare);
    if (!header || !bare.starts_with(mark)) {
      kernel.source.text += line;
      continue;
    }
    const std::string where = fmt::format("{} line {}", path, number);
    const auto json = read_json_object(bare.substr(mark.size()), where);
    if (!json) return json.error();
    if (auto taken = take_line(*json, where, kernel); !taken) return std::move(taken.error());
  }
  return kernel;
}

std::string standalone_text(const KernelSource& source,
                            const std::vector<std::string>& task_words) {
  std::string text;
  const auto line = [&](const char* key, Json value) {
    Json object = Json::object();
    object[key] = std::move(value);
    text += fmt::format("{} {}\n", mark, dump(object));
  };
  if (!task_words.empty()) line("task", task_words);
  if (!source.template_name.empty()) line("template", source.template_name);
  if (!source.strategy_id.empty()) line("strategy", source.strategy_id);
  if (!source.constants.empty()) line("constants", source.constants);
  if (!source.plan.launches.empty()) line("plan", plan_to(source.plan));
  return text + source.text;
}

}  // namespace cupilot
