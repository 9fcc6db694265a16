// One self-contained kernel text with its launch plan, and the headers that it may include.
#pragma once

#include <string>
#include <string_view>

#include <cupilot/parts/export.hpp>
#include <cupilot/parts/launch_plan.hpp>
#include <cupilot/result.hpp>
#include <cupilot/task.hpp>

CUPILOT_EXPORTS_BEGIN
namespace cupilot {

enum class Language { cuda, ptx };

struct KernelSource {
  Language language = Language::cuda;
  std::string text{};
  LaunchPlan plan{};
  Constants constants{};        // the strategy's numbers, seen by the plan's expressions
  std::string template_name{};  // "" when free-form
  std::string strategy_id{};
};

// SHA-256 of text and plan.
std::string kernel_id(const KernelSource& source);

// Launch-plan JSON (docs/formats/launch-plan.md).
Result<LaunchPlan> launch_plan_from_json(std::string_view json);
std::string launch_plan_to_json(const LaunchPlan& plan);

// A .cu that stands alone carries its plan, constants and task words in a leading `// cupilot:
// {json}` comment.
struct StandaloneKernel {
  KernelSource source{};
  // {"gemm", "m=512", …}, or {"path.json"}; Words that name the task; empty: none.
  std::vector<std::string> task_words{};
};
Result<StandaloneKernel> read_standalone(const std::string& path);
std::string standalone_text(const KernelSource& source, const std::vector<std::string>& task_words);

// Text of the device header that any kernel may include as "cupilot/NAME" ("types.cuh"), of those
// that ship: first those that all kernels share, then those of families. "": there is none. It
// guards itself against no second include.
std::string_view device_header(std::string_view name);

}  // namespace cupilot
CUPILOT_EXPORTS_END
