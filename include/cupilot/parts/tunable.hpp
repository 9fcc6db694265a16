// A template: a tunable .cu with declared parameters, domains, restrictions and launch. Built-in
// and user templates are treated alike. File format: docs/formats/tunable.md.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <cupilot/parts/export.hpp>
#include <cupilot/parts/launch_plan.hpp>
#include <cupilot/result.hpp>
#include <cupilot/task.hpp>

CUPILOT_EXPORTS_BEGIN
namespace cupilot {

struct TunableParameter {
  std::string constant{};   // its name in the kernel text: "BM"
  std::string name{};       // vocabulary name: "block_m"
  std::string technique{};  // the technique it belongs to; "" for the template's own knob
  std::vector<std::int64_t> domain{};
  std::int64_t plain = 0;  // value when the technique is not used
};

// Texts of device headers by name ("ring.cuh").
using DeviceHeaders = std::map<std::string, std::string>;

struct Tunable {
  std::string name{};    // "gemm_simt"
  std::string family{};  // tasks it can serve
  std::string summary{};
  std::vector<std::string>
      provides{};  // Techniques that it realises without a parameter ("simt_core", "mma_core" …).
  // Techniques that a strategy must hold for this template: its skeleton.
  std::vector<std::string> requires_techniques{};
  // Conditions on the task over its constants, elem.T and class.NAME (0/1): all must be non-zero.
  std::vector<Expr> when{};
  std::vector<TunableParameter> parameters{};
  // Conditions on a setting over constants, task constants, elem.T and dev.*: all must be non-zero.
  std::vector<Expr> restrictions{};
  Expr registers = 0;  // estimate per thread, checked before compiling; 0: unknown
  LaunchPlan plan{};
  std::string text{};  // CUDA C++ below the header
  std::string file{};
  // Headers of its family, which the text may include beside kernels/device; null: none.
  std::shared_ptr<const DeviceHeaders> headers{};
};

Result<Tunable> parse_tunable(std::string_view text, const std::string& file);
Result<Tunable> load_tunable(const std::string& path);

// The built-in templates, embedded in the library.
const std::vector<Tunable>& builtin_tunables();

// True if it can serve the task (family and `when`).
bool serves(const Tunable& tunable, const Task& task);

}  // namespace cupilot
CUPILOT_EXPORTS_END
